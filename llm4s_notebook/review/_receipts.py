"""Requests of a browser, each carried out once and answered exactly once, however often and wherever it arrives (W1.5)."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from ..errors import ConfigError, DecodeError

REMEMBERED = 500
"""So many requests are remembered, to answer one that is delivered twice without carrying it out twice."""
_log = logging.getLogger(__name__)


class _Asked(Protocol):
    @property
    def request_id(self) -> str: ...


R = TypeVar("R", bound=_Asked)
S = TypeVar("S")


@dataclass(slots=True)
class Receipt(Generic[S]):
    """A request that was taken: what it was answered, or who waits for the answer."""

    fingerprint: str
    answer: S | None = None
    replies: list[Callable[[S], None]] = field(default_factory=list["Callable[[S], None]"])


class Receipts(Generic[R, S]):
    """Checks the shape of each message and tells new requests from those delivered before. `refusal` makes an answer of an error."""

    def __init__(self, adapter: TypeAdapter[R], refusal: Callable[[str, Exception], S]) -> None:
        self._adapter = adapter
        self._refusal = refusal
        self._taken: OrderedDict[str, Receipt[S]] = OrderedDict()
        self._lock = threading.Lock()

    def take(
        self, content: object, reply: Callable[[S], None], forbids: Callable[[R], Exception | None] = lambda _: None
    ) -> tuple[R, Receipt[S]] | None:
        """The request to carry out, and its receipt to close; None where there is nothing to do, since it is answered otherwise.

        `forbids` gives the error that a request is refused with, whatever was answered before.
        """
        try:
            text = json.dumps(content, allow_nan=False)  # in the order of the browser: what a person edits keeps its own
            request = self._adapter.validate_json(text, strict=True)
            fingerprint = hashlib.sha256(text.encode()).hexdigest()
        except (ValidationError, ValueError, TypeError, RecursionError) as error:
            reply(self._refusal(_id_in(content), DecodeError(problems=_faults(error), what="the message from the browser")))
            return None
        forbidden = forbids(request)
        if forbidden is not None:
            reply(self._refusal(request.request_id, forbidden))
            return None
        with self._lock:
            known = self._taken.get(request.request_id)
            if known is None:
                receipt = self._taken[request.request_id] = Receipt[S](fingerprint, replies=[reply])
                while len(self._taken) > REMEMBERED:
                    self._taken.popitem(last=False)
                return request, receipt
            if known.fingerprint == fingerprint and known.answer is None:
                known.replies.append(reply)
                return None
        if known.answer is not None and known.fingerprint == fingerprint:
            reply(known.answer)
        else:
            problem = f"request id {request.request_id!r} was used for another request"
            reply(self._refusal(request.request_id, ConfigError(field="request_id", problems=[problem])))
        return None

    def close(self, receipt: Receipt[S], answer: S) -> None:
        """Answer everybody who waits, and whoever asks the same again."""
        with self._lock:
            receipt.answer = answer
            replies, receipt.replies = receipt.replies, []
        for reply in replies:
            try:
                reply(answer)
            except Exception:
                _log.exception("a reply could not be sent")


def _id_in(content: object) -> str:
    """The request id of a message that is no request, so that its view still hears of it."""
    found = cast("dict[object, object]", content).get("request_id") if isinstance(content, dict) else None
    return found if isinstance(found, str) else ""


def _faults(error: Exception) -> Iterable[str]:
    if isinstance(error, ValidationError):
        faults: list[Any] = list(error.errors(include_url=False)[:10])
        return [f"{'.'.join(map(str, fault['loc'])) or '(message)'}: {fault['msg']}" for fault in faults]
    return [str(error)]
