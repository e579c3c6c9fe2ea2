"""What a person answers: an (interrupt id, JSON value) pair, and the JSON forms of the usual answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from ._bare import bare
from ._codec import plain

REJECTED_BY_DEFAULT = "a reviewer refused this call; it was not run"
"""Says that a person decided, and that nothing happened (F14, F17)."""


class Answer(NamedTuple):
    """One interrupt's answer. It is only encoded here: whether `id` waits for such a value is for `resume` to say (2.3.3)."""

    id: str
    value: Any

    @classmethod
    def approve(cls, id: str) -> Answer:
        """Let an approval's call run as it stands."""
        return cls(id, {"decision": "approve"})

    @classmethod
    def reject(cls, id: str, reason: str = REJECTED_BY_DEFAULT) -> Answer:
        """Refuse an approval's call; the model sees the reason as the call's result."""
        return cls(id, {"decision": "reject", "reason": reason})

    @classmethod
    def edit(cls, id: str, arguments: Mapping[str, Any]) -> Answer:
        """Let an approval's call run with other arguments; the tool stays the same (D12). A `SecretStr` is
        sent as its value, not as the asterisks that it prints as. Raises: EncodeError."""
        return cls(id, {"decision": "edit", "arguments": plain(bare(dict(arguments)), "the arguments")})

    @classmethod
    def reply(cls, id: str, value: Any) -> Answer:
        """Answer a question with a JSON value or a model; secrets as in `edit`. Raises: EncodeError."""
        return cls(id, plain(bare(value), "the answer"))

    @classmethod
    def proceed(cls, id: str) -> Answer:
        """Let a held task go on: JSON null (R5.23)."""
        return cls(id, None)


Answers: TypeAlias = Answer | Mapping[str, Any] | Iterable[Answer | tuple[str, Any]]
"""Interrupt id -> JSON value, in any of these forms."""
