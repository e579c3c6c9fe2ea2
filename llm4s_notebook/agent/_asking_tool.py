"""A tool that asks a person before it goes on (3.7)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Generic, TypeVar, final

from ..errors import ConfigError
from ..models import FrozenDict, Json
from ._argument_faults import InvalidArguments
from ._arguments import decode_arguments
from ._codec import ArgumentsCodec, Codec
from ._context import ToolContext
from ._outcome import Ask, ToolOutcome
from ._tool import AgentTool
from ._typed import type_arguments

Args = TypeVar("Args")
Q = TypeVar("Q")
Ans = TypeVar("Ans")


class AskingTool(AgentTool, Generic[Args, Q, Ans]):
    """A tool typed by its arguments, its questions and their answers, written in the brackets of the class.

    `execute` returns `self.ask(question)`; once answered, `resume` is called with the same arguments, the question and the
    answer. It may ask again, any number of times, but no longer for approval (3.6.2).
    """

    arguments_codec: ClassVar[Codec[Any] | None] = None
    question_codec: ClassVar[Codec[Any] | None] = None
    answer_codec: ClassVar[Codec[Any] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        given = type_arguments(cls, AskingTool) if "__orig_bases__" in cls.__dict__ else None
        if given is None:  # no brackets of its own: the types are inherited, or still open
            return
        name = getattr(cls, "name", cls.__name__)
        arguments, question, answer = given
        cls.arguments_codec = ArgumentsCodec[Any](arguments, what=f"arguments of tool '{name}'")
        cls.question_codec = Codec[Any](question, what=f"question of tool '{name}'")
        cls.answer_codec = Codec[Any](answer, what=f"answer to tool '{name}'")
        cls.question_type = question

    def __repr__(self) -> str:
        return f"<asking tool {self.name}>"

    @property
    def parameters(self) -> dict[str, Json]:
        codec = self.arguments_codec
        if codec is None:
            raise ConfigError(field=f"tool '{type(self).__name__}'", problems=["name its types: AskingTool[Args, Question, Answer]"])
        return FrozenDict({keyword: value for keyword, value in codec.schema().items() if keyword != "title"})

    def problems(self) -> list[str]:
        found = super().problems()
        if self.arguments_codec is None:
            return [*found, f"tool '{type(self).__name__}' does not name its types: AskingTool[Args, Question, Answer]"]
        try:
            self.arguments_codec.schema()
        except ConfigError as error:
            found += [f"{error.field}: {problem}" for problem in error.problems]
        return found

    def check(self, args: Args) -> str | None:
        """Refuse arguments that validate and yet will not do: return why, or raise (3.2 step 4)."""
        return None

    def decode(self, arguments: Json) -> Args:
        """Raises: InvalidArguments, or what a validator or the check raises."""
        args = self.decode_again(arguments)
        if (refused := self.check(args)) is not None:
            raise InvalidArguments([refused])
        return args

    def decode_again(self, arguments: Json) -> Args:
        """The stored arguments when the tool goes on after its question; the check is not made again (3.7.3)."""
        assert self.arguments_codec is not None  # `problems` keeps such a tool out of every agent
        return decode_arguments(self.arguments_codec, arguments)

    @final
    def ask(self, question: Q) -> ToolOutcome:
        """The outcome that parks the call with this question; return it from `execute` or `resume`."""
        return Ask(question)

    @abstractmethod
    async def execute(self, args: Args, context: ToolContext) -> ToolOutcome: ...

    @abstractmethod
    async def resume(self, args: Args, question: Q, answer: Ans, context: ToolContext) -> ToolOutcome:
        """Go on with the answer. An exception becomes the call's error result (3.7.5)."""
