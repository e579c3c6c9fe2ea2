"""One thread driven for a person: everything a widget does, without a widget. Knows no notebook and no front end;
`register` is where one hands itself in."""

from ._breakpoints import Breakpoints
from ._callable import make_callable
from ._compare import ComparedTurn, Comparison, compare
from ._front_end import FrontEnd, register
from ._graph_thread import GraphThread
from ._review import Reviewer, review
from ._session import Session

__all__ = ["Breakpoints", "ComparedTurn", "Comparison", "FrontEnd", "GraphThread", "Reviewer", "Session", "compare", "register", "review"]

make_callable(__name__)
