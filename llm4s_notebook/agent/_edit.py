"""An approval that a person edits: the call as it runs then, and what its tool would say of the arguments (3.5.3, 3.8.4)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from ..graph import ThreadState
from ..models import Json
from ._argument_faults import ArgumentFault, InvalidArguments
from ._arguments import arguments_for
from ._call import CallWork
from ._call_secrets import secrets_of
from ._conceal import Concealer
from ._family import Member
from ._messages import edited
from ._request import ApprovalRequest
from ._tool_chain import said


def edited_work(member: Member, request: ApprovalRequest, arguments: Json, state: ThreadState) -> CallWork:
    """The call with other arguments; dots that were left stand for what they stood for."""
    shown, secrets = _hidden(member, request, arguments, state)
    call = edited(request.call, shown)
    return CallWork(call, request.message_id, approved=True, answers=request.answers, edited=True, secrets=secrets)


def edit_problems(member: Member, request: ApprovalRequest, arguments: Mapping[str, Any], state: ThreadState) -> tuple[ArgumentFault, ...]:
    """What the tool would say of these arguments, without their secrets; empty when it takes them."""
    tool = member.tools.get(request.call.name)
    if tool is None:
        return ()  # it was there when the call was made; resume says what has become of it
    shown, secrets = _hidden(member, request, dict(arguments), state)
    try:
        tool.decode(arguments_for(tool, member.secret_places.get(tool.name), shown, secrets or {}))
    except asyncio.CancelledError:
        raise
    except Exception as error:  # a validator of the user's may raise anything (3.2.1)
        problems = error.faults if isinstance(error, InvalidArguments) else (said(error),)
        conceal = Concealer(secrets or {})
        faults = [fault if isinstance(fault, ArgumentFault) else _placed(fault) for fault in problems]
        return tuple(ArgumentFault(fault.path, conceal.text(fault.reason)) for fault in faults)
    return ()


_LINE = re.compile(r"\$((?:\.[^.\[\]:]+|\[\d+\])*): (.*)", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]:]+)|\[(\d+)\]")


def _placed(line: str) -> ArgumentFault:
    """A fault that came as a line, such as one of a tool's own check; of the arguments as a whole where it names no place."""
    found = _LINE.fullmatch(line)
    if found is None:
        return ArgumentFault((), line)
    return ArgumentFault(tuple(name or int(index) for name, index in _STEP.findall(found[1])), found[2])


def _hidden(member: Member, request: ApprovalRequest, arguments: Json, state: ThreadState) -> tuple[Json, dict[str, Json] | None]:
    places = member.secret_places.get(request.call.name)
    if places is None:
        return arguments, None
    return places.hide(arguments, secrets_of(state, request.message_id, request.call.id))
