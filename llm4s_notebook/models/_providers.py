"""The providers a client can be made for, their keys, and the library that speaks to them (M1.1 - M1.3)."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from pydantic import SecretStr

from ..errors import ConfigError, text_of
from ._google import google_model
from ._options import fits_a_header

if TYPE_CHECKING:
    from pydantic_ai.models import Model

EXTRA = "models"
INSTALL = f'pip install "llm4s-notebook[{EXTRA}]"'
UPGRADE = f'pip install --upgrade "llm4s-notebook[{EXTRA}]"'
_NO_KEY = SecretStr("no-key")
"""Sent where a server wants none: the SDKs insist on a value."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where a provider is and what opens it. The key is in no `repr`, and in no frame that an error's traceback goes through."""

    base_url: str | None
    key: SecretStr

    def __reduce__(self) -> NoReturn:
        raise TypeError("what opens a provider is not pickled or copied")


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider: the environment variables of its key, in order, the module that speaks to it, and what makes a model."""

    name: str
    variables: tuple[str, ...]
    module: str
    make: Callable[[str, Access], Model[Any]]
    marks_errors: bool = True
    """Whether it can be told that a tool's result is an error."""
    lacks: frozenset[str] = frozenset()
    """Options that it has no word for."""
    tags_reasoning: bool = False
    """Whether servers with its interface pass on reasoning that a model wrote into its text."""

    def load(self) -> None:
        """Import the library. Raises: ConfigError naming the extra and the line that installs it (M1.2)."""
        try:
            importlib.import_module(self.module)
        except ImportError as error:
            missing, said = _missing(error), text_of(error)
        else:
            return
        problem = f"'{self.name}' needs the extra '{EXTRA}', which is not installed (no module '{missing}')"
        if missing is None:
            problem = f"'{self.name}' needs the extra '{EXTRA}', and what is installed of it cannot be imported: {said}"
        raise ConfigError(
            field="model",
            problems=[problem],
            next_step=f"run {INSTALL if missing is not None else UPGRADE} and restart the kernel",
        )

    def check(self, given: Iterable[str]) -> None:
        """Raises: ConfigError for options that this provider would ignore (M1.4)."""
        if problems := [f"{name}: '{self.name}' has no such option" for name in given if name in self.lacks]:
            raise ConfigError(field="options", problems=problems)

    def access(self, base_url: str | None, api_key: SecretStr | None) -> Access:
        """The key given, else the environment's; that one goes to the provider's own address only (M1.3).

        Raises: ConfigError naming the variable where there is no key.
        """
        if api_key is not None:
            return Access(base_url, api_key)
        if base_url is not None:
            return Access(base_url, _NO_KEY)
        for variable in self.variables:
            key = SecretStr(os.environ.get(variable, "").strip())
            if key and not fits_a_header(key.get_secret_value()):
                raise ConfigError(field=variable, problems=["the key in this environment variable is not ASCII text without spaces"])
            if key:
                return Access(None, key)
        raise ConfigError(
            field="api_key",
            problems=[f"there is no key for '{self.name}'"],
            next_step=f"set the environment variable {' or '.join(self.variables)}, or give api_key=…",
        )


_NO_TAGS = ("<no tag opens reasoning>", "<no tag closes reasoning>")
"""Tags that no model writes: reasoning in a text is told apart here, the same in a stream and whole (_reasoning.py)."""


def _openai_profile() -> Any:
    from pydantic_ai.profiles.openai import OpenAIModelProfile

    # the schema of a tool is sent as it is
    return OpenAIModelProfile(json_schema_transformer=None, thinking_tags=_NO_TAGS)


def _missing(error: BaseException | None) -> str | None:
    """The module that is not there, under the library's own advice on what to install; None where one is there and broken."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError):
            return error.name or text_of(error)
        error = error.__cause__
    return None


def _openai_provider(access: Access) -> Any:
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    if access.base_url is None:
        return OpenAIProvider(api_key=access.key.get_secret_value())
    return OpenAICompatibleProvider("openai-compatible", base_url=access.base_url, api_key=access.key.get_secret_value())


def _openai_chat(model: str, access: Access) -> Model[Any]:
    from pydantic_ai.models.openai import OpenAIChatModel

    return OpenAIChatModel(model, provider=_openai_provider(access), profile=_openai_profile())


def _openai_responses(model: str, access: Access) -> Model[Any]:
    from pydantic_ai.models.openai import OpenAIResponsesModel

    return OpenAIResponsesModel(model, provider=_openai_provider(access), profile=_openai_profile())


def _anthropic(model: str, access: Access) -> Model[Any]:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicModel(model, provider=AnthropicProvider(api_key=access.key.get_secret_value(), base_url=access.base_url))


def _google(model: str, access: Access) -> Model[Any]:
    return google_model(model, access.base_url, access.key.get_secret_value())


PROVIDERS = {
    provider.name: provider
    for provider in (
        Provider("openai", ("OPENAI_API_KEY",), "pydantic_ai.models.openai", _openai_chat, marks_errors=False, tags_reasoning=True),
        Provider(
            "openai-responses",
            ("OPENAI_API_KEY",),
            "pydantic_ai.models.openai",
            _openai_responses,
            marks_errors=False,
            lacks=frozenset({"seed", "stop"}),
        ),
        Provider("anthropic", ("ANTHROPIC_API_KEY",), "pydantic_ai.models.anthropic", _anthropic, lacks=frozenset({"seed"})),
        Provider("google", ("GOOGLE_API_KEY", "GEMINI_API_KEY"), "pydantic_ai.models.google", _google),
    )
}


def provider_of(name: object) -> tuple[Provider, str]:
    """The provider and the model that "provider:model" names. Raises: ConfigError that lists the known providers."""
    known = ", ".join(PROVIDERS)
    if not isinstance(name, str) or ":" not in name:
        meant = next((one for begins, one in _MODELS.items() if isinstance(name, str) and name.lower().startswith(begins)), None)
        raise ConfigError(
            field="model",
            problems=[f"a model is written 'provider:model'; the providers are {known}"],
            next_step=f"name the provider before it: chat_client('{meant or 'openai'}:<model>')",
        )
    provider, _, model = name.partition(":")
    if provider not in PROVIDERS:
        meant = _OTHER_NAMES.get(provider.strip().lower()) or next(
            iter(get_close_matches(provider.strip().lower(), PROVIDERS, 1, 0.7)), None
        )
        other = "for any other server with OpenAI's interface: chat_client('openai:<model>', base_url='http://…/v1')"
        raise ConfigError(
            field="model",
            problems=[f"there is no provider '{provider}'; there are {known}"],
            next_step=other if meant is None else f"did you mean '{meant}'? {other}",
        )
    if not model.strip():
        raise ConfigError(field="model", problems=[f"'{name}' names no model"])
    if model != model.strip() or not model.isprintable():
        raise ConfigError(
            field="model", problems=[f"{model!r} is no model's name: there is white space around it, or what is not seen in it"]
        )
    return PROVIDERS[provider], model


_OTHER_NAMES = {"gemini": "google", "google-gla": "google", "google-genai": "google", "claude": "anthropic", "gpt": "openai"}
_MODELS = {"gpt-": "openai", "o1": "openai", "o3": "openai", "o4": "openai", "claude-": "anthropic", "gemini-": "google"}
"""How the names of models begin that people give without their provider."""
