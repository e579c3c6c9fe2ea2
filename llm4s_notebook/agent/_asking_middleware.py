"""A middleware that asks a person (4.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Generic, TypeVar, final

from ..errors import ConfigError, DecodeError
from ..graph import RunContext
from ._asked import Answered, Asked
from ._codec import Codec
from ._context import ToolContext, answers_in
from ._middleware import AgentMiddleware
from ._outcome import Ask, ToolOutcome
from ._typed import type_arguments

Q = TypeVar("Q")
Ans = TypeVar("Ans")


class AskingMiddleware(AgentMiddleware, Generic[Q, Ans]):
    """A middleware with questions of type Q and answers of type Ans, written in the brackets of the class.

    A hook asks by returning `self.ask(question)`, or `self.ask_about(question)` from `wrap_tool_call`. The turn then waits.
    Once answered, the asking task starts over, and with it every middleware of that hook from the outermost; `answered`
    gives this one its answer. A middleware outside it therefore runs twice and must not rely on running once (4.3.8).
    """

    question_codec: ClassVar[Codec[Any] | None] = None
    answer_codec: ClassVar[Codec[Any] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        given = type_arguments(cls, AskingMiddleware) if "__orig_bases__" in cls.__dict__ else None
        if given is not None:  # else it has no brackets of its own: the types are inherited, or still open
            cls.question_codec = Codec[Any](given[0], what=f"question of {cls.__name__}")
            cls.answer_codec = Codec[Any](given[1], what=f"answer to {cls.__name__}")

    @final
    def ask(self, question: Q) -> Asked:
        """The marker that suspends the run with this question; return it from any hook but `wrap_tool_call`.

        Raises: EncodeError when the question is not a Q.
        """
        return Asked(self.id, self._questions().encode(question), self)

    @final
    def ask_about(self, question: Q) -> ToolOutcome:
        """The outcome that suspends the call with this question; return it from `wrap_tool_call`."""
        return Ask(question)

    @final
    def answered(self, context: RunContext | ToolContext) -> Answered[Q, Ans] | None:
        """This middleware's latest question and answer in this stack run; None before there is one, or when it no longer decodes."""
        return next(iter(self.all_answered(context)), None)

    @final
    def all_answered(self, context: RunContext | ToolContext) -> Iterable[Answered[Q, Ans]]:
        """Every question of this middleware answered in this stack run, the latest first."""
        agent, answers = answers_in(context)
        for given in reversed(answers):
            if given.agent == agent and given.middleware == self.id:
                try:
                    yield Answered(self._questions().decode(given.question), self._answers().decode(given.answer))
                except DecodeError:
                    return

    def _questions(self) -> Codec[Q]:
        return _typed(self, self.question_codec)

    def _answers(self) -> Codec[Ans]:
        return _typed(self, self.answer_codec)


def _typed(middleware: AgentMiddleware, codec: Codec[Any] | None) -> Codec[Any]:
    if codec is None:
        raise ConfigError(
            field=f"middleware '{type(middleware).__name__}'", problems=["name its types: AskingMiddleware[Question, Answer]"]
        )
    return codec
