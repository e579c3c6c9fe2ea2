"""A place in front of a notebook for tests of `review`, taken or not."""

from __future__ import annotations

from dataclasses import dataclass, field

from llm4s_notebook.review import Session

from .turns import until


@dataclass
class Seat:
    """A place in front of a notebook, taken or not."""

    taken: bool = True
    reason: str | None = None
    shown: list[Session] = field(default_factory=list[Session])

    def somebody_there(self) -> bool:
        return self.taken

    def cannot_wait(self) -> str | None:
        return self.reason

    def show(self, session: Session) -> None:
        self.shown.append(session)

    async def session(self) -> Session:
        """The session shown last, once it waits for the person."""
        await until(lambda: bool(self.shown) and bool(self.shown[-1].state().pending) and not self.shown[-1].running)
        return self.shown[-1]


def shown_in_a_cell(error: BaseException) -> list[str]:
    """What IPython prints of an error that ended a cell: it asks the error itself."""
    return getattr(error, "_render_traceback_")()  # noqa: B009 - private to Python, public to IPython
