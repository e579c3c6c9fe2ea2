"""What may be set on a model: sampling, time-out and how often a failed request is sent again."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from ..errors import ConfigError, half_character
from ._json import Json


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When a request that failed is sent again (M4.2). Times in seconds.

    Before request n + 1 the client waits `first_wait` · 2^(n-1), at most `longest_wait`, less a random part of up to `jitter` of it,
    and never less than the provider's Retry-After. A Retry-After above `longest_retry_after` is not waited for.
    """

    attempts: int = 3
    first_wait: float = 1.0
    longest_wait: float = 30.0
    jitter: float = 0.25
    longest_retry_after: float = 60.0

    def __post_init__(self) -> None:
        problems = [
            f"{name} must be a number of seconds of at least 0"
            for name in ("first_wait", "longest_wait", "longest_retry_after")
            if not _is_number(getattr(self, name), 0, math.inf)
        ]
        attempts: Any = self.attempts
        if not isinstance(attempts, int) or attempts is True or attempts < 1:
            problems.insert(0, "attempts must be a whole number of at least 1")
        if not _is_number(self.jitter, 0, 1):
            problems.append("jitter must be a number from 0 to 1")
        if problems:
            raise ConfigError(field="retry", problems=problems)

    def wait_before(self, attempt: int, retry_after: float | None, chance: Callable[[], float] = random.random) -> float | None:
        """Seconds to wait before request number `attempt` (from 2); None when it is not sent any more.

        `chance` gives a number from 0 to 1.
        """
        if attempt > self.attempts or (retry_after is not None and retry_after > self.longest_retry_after):
            return None
        backoff = min(self.longest_wait, self.first_wait * 2 ** min(attempt - 2, 64)) * (1 - self.jitter * chance())
        return max(backoff, retry_after or 0.0)


def _is_number(value: object, least: float, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and least <= value <= most


def _address(value: object) -> object:
    if not isinstance(value, str):
        return value
    if not value.lower().startswith(("http://", "https://")):
        raise ValueError("an address begins with http:// or https://")
    if "?" in value or "#" in value:
        raise ValueError("an address has no query; give the key as api_key=…")
    if "@" in value.split("://", 1)[1].split("/", 1)[0]:
        raise ValueError("an address holds no user name or password; give the key as api_key=…")
    if not value.isprintable() or " " in value:
        raise ValueError("an address has no spaces and no line breaks")
    try:
        parts = urlsplit(value)
        whole = bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none, half an IPv6 address
        whole = False
    if not whole:
        raise ValueError("an address is http://host:port/path")
    return value


def fits_a_header(key: str) -> bool:
    """Whether a text can be sent as a key: an HTTP header takes no line breaks, and only ASCII."""
    return key != "" and key.isascii() and key.isprintable() and " " not in key


def _key(value: object) -> object:
    key = value.get_secret_value() if isinstance(value, SecretStr) else value
    if not isinstance(key, str):
        return value
    if not fits_a_header(key):
        raise ValueError("a key is ASCII text without spaces")
    return SecretStr(key)


def _writable(text: str) -> str:
    if half_character(text) is not None:
        raise ValueError("a text is Unicode; this one holds half a character")
    return text


class Sampling(BaseModel):
    """The options that a person may change while a client is in use (M1.7): none of them says where the model is or what opens it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True, hide_input_in_errors=True)

    temperature: Annotated[float | None, Field(ge=0, le=2, allow_inf_nan=False)] = None
    top_p: Annotated[float | None, Field(gt=0, le=1)] = None
    max_tokens: Annotated[int | None, Field(ge=1)] = None
    seed: int | None = None
    stop: tuple[Annotated[str, Field(min_length=1), AfterValidator(_writable)], ...] | None = None
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False, description="seconds without a byte from the server")] = 600.0


class Options(Sampling):
    """The options of `chat_client`, checked (M1.4)."""

    base_url: Annotated[str | None, BeforeValidator(_address)] = None
    api_key: Annotated[SecretStr | None, BeforeValidator(_key)] = None
    retry: RetryPolicy = RetryPolicy()

    @classmethod
    def of(cls, options: dict[str, Any]) -> Options:
        """Raises: ConfigError that lists every option that is unknown or wrong; never with a value that may be a key."""
        given = dict(options)
        if isinstance(given.get("stop"), list):
            given["stop"] = tuple(given["stop"])
        try:
            return cls(**given)
        except ValidationError as error:
            problems = [
                _problem(str(one["loc"][0]), one["type"], one["msg"]) for one in error.errors(include_input=False, include_url=False)
            ]
        raise ConfigError(field="options", problems=problems)

    def without_key(self) -> Options:
        """The same, as if no key were among them: who needs it holds it apart (M1.5)."""
        kept = {name: value for name, value in self if name in self.model_fields_set and name != "api_key"}
        return Options.model_construct(_fields_set=set(kept), **kept)

    def settings(self) -> dict[str, Any]:
        """Those that are sent with each request, by the names the provider library has for them."""
        named: dict[str, Any] = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "stop_sequences": None if self.stop is None else list(self.stop),
        }
        sent = {name: value for name, value in named.items() if value is not None}
        return {**sent, "timeout": self.timeout, "max_retries": 0}  # the policy above sends again, and nobody else


def option_schema(without: Iterable[str] = ()) -> dict[str, Json]:
    """The JSON Schema of an object of options, each of which may be left out. `without` names those that are not on offer."""
    schema: dict[str, Any] = Sampling.model_json_schema()
    left_out = set(without)
    properties = {name: _given(one) for name, one in schema["properties"].items() if name not in left_out}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _given(option: dict[str, Any]) -> dict[str, Any]:
    """An option as it is where it is given: one that is not given is left out, and never null. It is called as in code."""
    kinds = [kind for kind in option.get("anyOf", []) if kind != {"type": "null"}]
    gone = ("title", "anyOf", "default") if kinds else ("title",)
    return {name: value for name, value in option.items() if name not in gone} | (kinds[0] if kinds else {})


def _problem(name: str, kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return f"{name}: no such option; there are {', '.join(Options.model_fields)}"
    return f"{name}: {message.removeprefix('Value error, ')}"
