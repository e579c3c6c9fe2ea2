"""Guardrails over many texts, and a person's verdicts on what they refuse: `TextReview` without its drawing."""

from ._changes import TextChanges
from ._export import COLUMNS
from ._memory import TextVerdict
from ._project import storage
from ._refusal import TextRefusal
from ._requests import Say
from ._session import TextReviewer, TextSession
from ._table import HEADINGS, TextTable

__all__ = ["COLUMNS", "HEADINGS", "Say", "TextChanges", "TextRefusal", "TextReviewer", "TextSession", "TextTable", "TextVerdict", "storage"]
