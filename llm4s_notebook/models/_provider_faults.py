"""What a provider's error means: whether the request is sent again, and what a person can do (M4)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import ProviderFailed, ProviderFault, text_of
from ._error_bodies import message_in, one_line
from ._provider_messages import AnswerUnfit
from ._scrub import without_key

_LONGEST = 300
_AGAIN = "recover(thread_id) asks the model again"


class Fault(NamedTuple):
    """What is done about one kind of fault."""

    passing: bool
    """It may be gone when the request is sent again."""
    said: str
    next_step: str


FAULTS: dict[ProviderFault, Fault] = {
    "rate-limit": Fault(True, "the provider's rate limit is reached", f"wait a while, then {_AGAIN}"),
    "overloaded": Fault(True, "the provider is overloaded or out of service", f"wait a while, then {_AGAIN}"),
    "server": Fault(True, "the provider failed", f"wait a while, then {_AGAIN}"),
    "timeout": Fault(True, "the provider did not answer in time", f"{_AGAIN}; a longer timeout=… gives a slow model more time"),
    "connection": Fault(True, "the connection failed", f"check the network and base_url=…, then {_AGAIN}"),
    "truncated": Fault(True, "the answer broke off", _AGAIN),
    "bad-answer": Fault(
        True, "the answer cannot be used", f"{_AGAIN}; if it keeps failing, change the prompt, the model, or base_url=… where it was given"
    ),
    "quota": Fault(False, "the account's quota or credit is used up", f"top up the account or take another key, then {_AGAIN}"),
    "content-filter": Fault(
        False,
        "the content filter refused",
        "change the prompt or the model and call recover(thread_id), or give the turn up with abandon(thread_id)",
    ),
    "context-window": Fault(
        False,
        "the conversation is longer than the model's context window",
        "take a model with a larger window and call recover(thread_id), or begin a new thread with a shorter history=…",
    ),
    "max-tokens": Fault(False, "the answer is longer than max_tokens", "give the client a larger max_tokens=…, then recover(thread_id)"),
    "authentication": Fault(False, "the provider does not accept the key", "make a client with a valid key, then recover(thread_id)"),
    "not-found": Fault(
        False, "the provider does not know this model or address", "correct the model's name or base_url=…, then recover(thread_id)"
    ),
    "rejected": Fault(False, "the provider rejected the request", "correct what it names, then recover(thread_id)"),
    "unexpected": Fault(False, "the provider library failed", _AGAIN),
}


_MISSHAPEN = (LookupError, AttributeError, TypeError, AssertionError)
"""What the library stumbles over in an answer that is not formed as this provider forms its answers - without choices, say: not
every SDK checks what a server sends."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One request that failed. `said` is free of the key."""

    fault: ProviderFault
    said: str
    status: int | None = None
    retry_after: float | None = None

    @property
    def passing(self) -> bool:
        return FAULTS[self.fault].passing

    def error(self, model: str, attempts: int) -> ProviderFailed:
        """What is raised once the request is not sent any more."""
        known = FAULTS[self.fault]
        status = f" (HTTP {self.status})" if self.status is not None else ""
        asked = f"; asked {attempts} times" if attempts > 1 else ""
        next_step = known.next_step
        if self.retry_after is not None:
            next_step = f"the provider asks to wait {_in_words(self.retry_after)}; {next_step}"
        return ProviderFailed(
            f"{known.said}{status}: {self.said}{asked}",
            fault=self.fault,
            model=model,
            next_step=next_step,
            attempts=attempts,
            status=self.status,
            retry_after=self.retry_after,
            recoverable=known.passing,
        )


def _in_words(seconds: float) -> str:
    """A wait as it was asked for; a long one in hours or days too."""
    long = f" ({seconds / 86400:.0f} days)" if seconds > 172800 else f" ({seconds / 3600:.0f} hours)" if seconds > 7200 else ""
    return f"{seconds:.0f} s{long}"


def failure_of(error: Exception, key: str) -> Failure:
    """What an error of the provider library, its SDK or its transport means."""
    status = getattr(error, "status_code", None)
    retry_after = getattr(error, "retry_after", None)
    if retry_after is None:
        retry_after = _fraction(getattr(error, "headers", None))
    return Failure(
        _fault_of(error),
        _said_by(error, key),
        status if isinstance(status, int) else None,
        float(retry_after) if isinstance(retry_after, int | float) else None,
    )


def _fraction(headers: Any) -> float | None:
    """Seconds with a fraction, as some servers write Retry-After; the library reads whole ones and dates."""
    try:
        seconds = float(headers["retry-after"])
    except (TypeError, KeyError, ValueError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _fault_of(error: Exception) -> ProviderFault:
    from pydantic_ai import exceptions as theirs

    if isinstance(error, AnswerUnfit):
        return error.fault
    if isinstance(error, theirs.ModelAPIError) and error.provider_error_code in ("content_filter", "content_policy_violation"):
        return "content-filter"
    kinds: tuple[tuple[type[Exception], ProviderFault], ...] = (
        (theirs.ModelRateLimitError, "rate-limit"),
        (theirs.ModelQuotaExceededError, "quota"),
        (theirs.ModelUnavailableError, "overloaded"),
        (theirs.ModelServerError, "server"),
        (theirs.ModelRequestTimeout, "timeout"),
        (theirs.ModelTimeoutError, "timeout"),
        (theirs.ModelConnectionError, "connection"),
        (theirs.ModelContextWindowExceededError, "context-window"),
        (theirs.ModelAuthenticationError, "authentication"),
        (theirs.ModelNotFoundError, "not-found"),
        (theirs.ModelRequestRejectedError, "rejected"),
        (theirs.ContentFilterError, "content-filter"),
        (theirs.UnexpectedModelBehavior, "bad-answer"),
        (theirs.UserError, "rejected"),
    )
    for kind, fault in kinds:
        if isinstance(error, kind):
            return "context-window" if fault == "rejected" and _is_too_long(error) else fault
    if isinstance(error, theirs.ModelHTTPError):
        return "server" if error.status_code >= 500 or error.status_code in (408, 409, 425) else "rejected"
    return _fault_of_transport(error)


def _is_too_long(error: Exception) -> bool:
    """A local server's way to say so, which the library does not know: "the request exceeds the available context size" (llama.cpp)."""
    said = message_in(getattr(error, "body", None)) or ""
    return re.search(r"exceed\w*\b.*\bcontext[ _-](size|length|window)", said, re.IGNORECASE | re.DOTALL) is not None


def _fault_of_transport(error: Exception) -> ProviderFault:
    """What the library let through as it came: httpx, a broken chunk, a socket."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"TimeoutException", "TimeoutError"}:
        return "timeout"
    if names & {"TransportError", "StreamError", "OSError"}:
        return "connection"
    if names & {"JSONDecodeError", "UnicodeDecodeError", "UnknownApiResponseError"}:
        return "truncated"
    if names & {"ModelAPIError", "ValidationError"} or isinstance(error, _MISSHAPEN):
        return "bad-answer"
    return "unexpected"


def _first_cause(error: BaseException) -> BaseException:
    """What the system said of a connection, under the SDK's "Connection error.": refused, an unknown name, a certificate."""
    found, at = error, error
    for _ in range(10):
        at = at.__cause__ or at.__context__
        if at is None:
            break
        if isinstance(at, OSError) and text_of(at):  # a time-out's says nothing, and the SDK's does
            found = at
    return found


def _said_by(error: Exception, key: str) -> str:
    """The provider's own sentence where it sent one, else the error's; one line, without the key, not endless."""
    said = message_in(getattr(error, "body", None))
    if said is None and isinstance(getattr(error, "status_code", None), int):
        said = "it did not say why"  # the library's own text repeats status and model
    elif said is None:
        first = _first_cause(error)
        said = text_of(first) or type(first).__name__
        if not isinstance(error, AnswerUnfit):
            said = f"{type(first).__name__}: {said}"
        if isinstance(error, _MISSHAPEN):
            said = f"most likely it is not formed as this provider's answers are ({said})"
    return one_line(without_key(said, key), _LONGEST)
