"""Agents: a model with tools and middleware as one graph, whose turns can wait for a person.
Tools, middleware, approvals, questions, breakpoints, guardrail review, handoffs, and the result API."""

from __future__ import annotations

from ..graph import Answer, Answers, BreakpointPhase, RunContext
from ..models import Completion, ModelRequest, ToolCall, ToolHints, ToolSpec
from . import events
from ._agent import Agent
from ._approval import ApprovalMiddleware
from ._argument_faults import InvalidArguments
from ._asked import Answered, Asked
from ._asking_middleware import AskingMiddleware
from ._asking_tool import AskingTool
from ._codec import json_schema_of
from ._context import ToolContext
from ._decision import Approve, Decision, Edit, GivenAnswer, Reject
from ._function_tool import FunctionTool, tool
from ._guardrail_middleware import GuardrailMiddleware
from ._guardrail_review import GuardrailPhase, GuardrailReview, GuardrailReviewMiddleware, GuardrailVerdict
from ._handoff import Handoff
from ._middleware import AgentMiddleware, NextModelCall, NextToolCall
from ._node_ids import AgentNode
from ._outcome import Ask, Fatal, NeedsApproval, Success, ToolError, ToolOutcome
from ._pending import InterruptKind, PendingReview
from ._request import ApprovalRequest, BreakpointRequest, MiddlewareHook, MiddlewareQuestionRequest, ToolQuestionRequest
from ._result import AgentResult
from ._run import AgentRun
from ._schema_tool import schema_tool
from ._secrets import DOTS, SecretPlaces, hide_secrets, is_hidden
from ._status import AgentStatus, AnyStatus, Blocked, Completed, StepLimitReached, Suspended, Unfinished
from ._tool import AgentTool
from ._tool_request import ToolCallRequest

__all__ = [
    "DOTS",
    "Agent",
    "AgentMiddleware",
    "AgentNode",
    "AgentResult",
    "AgentRun",
    "AgentStatus",
    "AgentTool",
    "Answer",
    "Answered",
    "Answers",
    "AnyStatus",
    "ApprovalMiddleware",
    "ApprovalRequest",
    "Approve",
    "Ask",
    "Asked",
    "AskingMiddleware",
    "AskingTool",
    "Blocked",
    "BreakpointPhase",
    "BreakpointRequest",
    "Completed",
    "Completion",
    "Decision",
    "Edit",
    "Fatal",
    "FunctionTool",
    "GivenAnswer",
    "GuardrailMiddleware",
    "GuardrailPhase",
    "GuardrailReview",
    "GuardrailReviewMiddleware",
    "GuardrailVerdict",
    "Handoff",
    "InterruptKind",
    "InvalidArguments",
    "MiddlewareHook",
    "MiddlewareQuestionRequest",
    "ModelRequest",
    "NeedsApproval",
    "NextModelCall",
    "NextToolCall",
    "PendingReview",
    "Reject",
    "RunContext",
    "SecretPlaces",
    "StepLimitReached",
    "Success",
    "Suspended",
    "ToolCall",
    "ToolCallRequest",
    "ToolContext",
    "ToolError",
    "ToolHints",
    "ToolOutcome",
    "ToolQuestionRequest",
    "ToolSpec",
    "Unfinished",
    "events",
    "hide_secrets",
    "is_hidden",
    "json_schema_of",
    "schema_tool",
    "tool",
]
