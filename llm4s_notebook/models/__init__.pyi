from ._blank import is_blank
from ._chat_client import ProviderClient, chat_client
from ._client import ChatClient, ClientWithOptions, Completion, Delta, ModelRequest, StreamingChatClient, ToolCallDelta, ToolHints, ToolSpec
from ._conversation import call_id_problems, conversation_problems, message_problems
from ._json import FrozenDict, FrozenList, Json, compact, freeze, json_bytes, thaw
from ._message import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, ToolResultOutcome, UserMessage
from ._options import RetryPolicy
from ._retrying import Retry, tell_retry
from ._scripted import BreaksOff, ScriptedClient, ScriptExhausted, calls
from ._usage import ModelUsage, Usage, UsageSummary

__all__ = [
    "AssistantMessage",
    "BreaksOff",
    "ChatClient",
    "ClientWithOptions",
    "Completion",
    "Delta",
    "FrozenDict",
    "FrozenList",
    "Json",
    "Message",
    "ModelRequest",
    "ModelUsage",
    "ProviderClient",
    "Retry",
    "RetryPolicy",
    "ScriptExhausted",
    "ScriptedClient",
    "StreamingChatClient",
    "SystemMessage",
    "ToolCall",
    "ToolCallDelta",
    "ToolHints",
    "ToolMessage",
    "ToolResultOutcome",
    "ToolSpec",
    "Usage",
    "UsageSummary",
    "UserMessage",
    "call_id_problems",
    "calls",
    "chat_client",
    "compact",
    "conversation_problems",
    "freeze",
    "is_blank",
    "json_bytes",
    "message_problems",
    "tell_retry",
    "thaw",
]
