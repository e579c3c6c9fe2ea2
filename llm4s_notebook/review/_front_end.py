"""Who draws a session where a person sits: handed in from above, so that this room knows no notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .. import _wiring

if TYPE_CHECKING:
    from ._session import Session


class FrontEnd(Protocol):
    """What `review` needs of the place it is called from."""

    def somebody_there(self) -> bool:
        """Whether a person can answer: false in a run that allows no input, and outside a notebook."""
        ...

    def cannot_wait(self) -> str | None:
        """Why a cell cannot wait here for what a widget sends; None where it can."""
        ...

    def show(self, session: Session) -> None:
        """Show the console of this session in the calling cell."""
        ...


_registered: FrontEnd | None = None


def register(front_end: FrontEnd | None) -> None:
    """Use this front end from now on; None takes it away."""
    global _registered
    _registered = front_end


def front_end() -> FrontEnd | None:
    """The front end, loaded now if it has not been; None where there is none to load."""
    if _registered is None and _wiring.load_front_end is not None:
        _wiring.load_front_end()
    return _registered
