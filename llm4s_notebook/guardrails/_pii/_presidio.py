"""One of presidio's recognizers as one of ours: by itself, without a language model and without the network."""

from __future__ import annotations

import copy
import logging
import re
import threading
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from ...errors import ConfigError
from ._span import PiiSpan


def presidio(recognizer: object, *, min_score: float = 0.4) -> PresidioRecognizer:
    """One of presidio's pattern recognizers, for `PiiDetector(recognizers=[…])`; needs `pip install "llm4s-notebook[presidio]"`.

    `recognizer` is an instance, or the class name of one that presidio brings ("CryptoRecognizer"). Finds below `min_score`
    (0 to 1) are left out; presidio's own engine would raise some by the words around them, which needs a language model. For
    the same reason recognizers of names and places are refused. An entity such as US_PASSPORT becomes the kind "us_passport".

    Its e-mail recognizer would fetch the list of public suffixes; here it reads the copy that its library brings.

    Raises: ConfigError when presidio is not installed, has no such recognizer, or it needs more than the text.
    """
    return PresidioRecognizer(recognizer, min_score)


class PresidioRecognizer:
    """Made by `presidio`."""

    def __init__(self, recognizer: object, min_score: float) -> None:
        if isinstance(min_score, bool) or not isinstance(min_score, int | float) or not 0 <= min_score <= 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(field="presidio", problems=[f"min_score is a number from 0 to 1, not {min_score!r}"])
        self._recognizer = _offline(_instance(recognizer))
        self._min_score = min_score
        self._entities: list[str] = list(self._recognizer.supported_entities)
        self.kinds = tuple(_kind(entity) for entity in self._entities)

    def __repr__(self) -> str:
        return f"presidio({self._recognizer.name!r})"

    def find(self, text: str) -> Iterator[PiiSpan]:
        """Yield what it finds. Raises: TimeoutError where one of its patterns took too long and was given up."""
        with _GivenUp() as given_up:
            found = self._recognizer.analyze(text, self._entities, None)
        if given_up.messages:
            # presidio notes this in its log and goes on as if nothing were there
            raise TimeoutError(f"{self!r}: {given_up.messages[0]}")
        for one in found:
            if one.score >= self._min_score and one.end > one.start:
                yield PiiSpan(one.start, one.end, _kind(one.entity_type))


class _GivenUp(logging.Handler):
    """Listens, for this thread, to presidio saying that it gave a pattern up."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []
        self._thread = threading.get_ident()
        self._logger = logging.getLogger("presidio-analyzer")

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread and record.exc_info and isinstance(record.exc_info[1], TimeoutError):
            self.messages.append(record.getMessage())

    def __enter__(self) -> _GivenUp:
        self._logger.addHandler(self)
        return self

    def __exit__(self, *_error: object) -> None:
        self._logger.removeHandler(self)


def _kind(entity: str) -> str:
    return re.sub(r"[^a-z0-9_]", "_", entity.lower())


def _instance(recognizer: object) -> Any:
    try:
        library = import_module("presidio_analyzer")
        shipped = import_module("presidio_analyzer.predefined_recognizers")
    except ImportError as missing:
        problem = f'presidio is not installed ({missing}); pip install "llm4s-notebook[presidio]"'
        raise ConfigError(field="presidio", problems=[problem]) from missing
    made: Any = recognizer
    if isinstance(recognizer, str):
        known = getattr(shipped, recognizer, None)
        if not (isinstance(known, type) and issubclass(known, library.EntityRecognizer)):
            raise ConfigError(field="presidio", problems=[f"presidio has no recognizer {recognizer!r}"])
        if issubclass(known, library.PatternRecognizer):
            made = known()
    if not isinstance(made, library.PatternRecognizer):
        raise ConfigError(field="presidio", problems=[f"{recognizer!r} is no pattern recognizer: it needs more than the text"])
    return made


def _offline(recognizer: Any) -> Any:
    shipped = import_module("presidio_analyzer.predefined_recognizers")
    if not isinstance(recognizer, shipped.EmailRecognizer):
        return recognizer
    suffixes: Any = import_module("tldextract").TLDExtract(cache_dir=None, suffix_list_urls=())
    own: Any = copy.copy(recognizer)  # the given one stays as it is

    def has_suffix(text: str) -> bool:
        return suffixes(text).fqdn != ""

    own.validate_result = has_suffix
    return own
