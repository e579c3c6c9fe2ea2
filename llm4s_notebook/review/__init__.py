"""One thread driven for a person, or many texts judged by one: everything a widget does, without a widget.

Knows no notebook and no front end; `register` is where one hands itself in.
"""

from ._breakpoints import Breakpoints
from ._callable import make_callable
from ._compare import ComparedTurn, Comparison, compare
from ._decision_log import DecisionLog
from ._decision_record import DecisionRecord
from ._decisions import Decisions
from ._front_end import FrontEnd, register
from ._graph_thread import GraphThread
from ._replay import UnusedDecisions
from ._review import Reviewer, review
from ._session import Session
from ._texts import TextChanges, TextRefusal, TextReviewer, TextSession, TextTable, TextVerdict

__all__ = [
    "Breakpoints",
    "ComparedTurn",
    "Comparison",
    "DecisionLog",
    "DecisionRecord",
    "Decisions",
    "FrontEnd",
    "GraphThread",
    "Reviewer",
    "Session",
    "TextChanges",
    "TextRefusal",
    "TextReviewer",
    "TextSession",
    "TextTable",
    "TextVerdict",
    "UnusedDecisions",
    "compare",
    "register",
    "review",
]

make_callable(__name__)
