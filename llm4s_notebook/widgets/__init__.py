"""Draws a session, or a review of texts, in a notebook and passes on what the person did; decides nothing.
Importing it makes the notebook the place where `review` shows its console."""

from ..review import register
from ._console import Console
from ._graph_view import GraphView
from ._notebook import Notebook
from ._review_panel import ReviewPanel
from ._text_review import TextReview
from ._transcript import Transcript
from ._widget import SessionWidget

__all__ = ["Console", "GraphView", "Notebook", "ReviewPanel", "SessionWidget", "TextReview", "Transcript"]

register(Notebook())
