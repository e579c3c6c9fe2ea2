"""Typed values to JSON and back: strictly, and with every fault named by its path (D4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cached_property
from typing import Annotated, Any, ClassVar, Generic, TypeVar, cast

from pydantic import PlainValidator, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from pydantic_core import InitErrorDetails, PydanticCustomError, PydanticSerializationError, to_jsonable_python

from ..errors import ConfigError, DecodeError, EncodeError
from ..models import Json, compact, freeze, thaw
from ._secrets import NO_VALUE, SecretPlaces, without_defaults

T = TypeVar("T")
_NO_VALUE = PydanticCustomError("hidden_secret", NO_VALUE)


class SecretSchema(GenerateJsonSchema):
    """JSON Schema in which `Secret[…]` is marked as secret like `SecretStr`, which pydantic leaves out."""

    def json_or_python_schema(self, schema: Any) -> dict[str, Any]:
        made = super().json_or_python_schema(schema)
        writes = getattr(schema.get("serialization", {}).get("function"), "__name__", "")
        return {**made, "writeOnly": True} if writes == "_serialize_secret" else made


class _PlainSchema(SecretSchema):
    """JSON Schema without the titles that pydantic makes of field names; a title the user wrote stays.

    A default without a JSON form is left out unsaid.
    """

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - declared so by pydantic

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def decimal_schema(self, schema: Any) -> dict[str, Any]:
        """A Decimal's text says what it is: pydantic writes `Decimal` and `float | str` alike, and a form must not confuse them."""
        made = super().decimal_schema(schema)
        for branch in made.get("anyOf", ()):
            if branch.get("type") == "string":
                branch["format"] = "decimal"
        return made

    def generator_schema(self, schema: Any) -> Any:
        return self.handle_invalid_for_json_schema(schema, "an iterable that is checked only while it is read; use a list")

    def encode_default(self, dft: Any) -> Any:
        """Raises: PydanticSerializationError also for what Python writes as NaN or Infinity, which is no JSON."""
        made = super().encode_default(dft)
        try:
            return thaw(freeze(made))
        except EncodeError as error:
            raise PydanticSerializationError(error.what) from error


class _ArgumentsSchema(_PlainSchema):
    """JSON Schema that a model is shown: all of it is JSON, and a call may give every choice that it lists."""

    def generate(self, schema: Any, mode: JsonSchemaMode = "validation") -> dict[str, Any]:
        """Raises: ValueError where the schema is no JSON, such as one with an infinite bound."""
        made = super().generate(schema, mode)
        try:
            freeze(made)
        except EncodeError as error:
            raise ValueError("; ".join(error.problems)) from error
        return made

    def is_subclass_schema(self, schema: Any) -> Any:
        return self.handle_invalid_for_json_schema(schema, "a class, which no JSON stands for")

    def literal_schema(self, schema: Any) -> Any:
        self._readable(schema, schema["expected"])
        return super().literal_schema(schema)

    def enum_schema(self, schema: Any) -> Any:
        self._readable(schema, schema["members"])
        return super().enum_schema(schema)

    def _readable(self, schema: Any, choices: Sequence[Any]) -> None:
        """Raises: PydanticInvalidForJsonSchema for a choice whose JSON, given in a call, would not be read as that choice."""
        for choice in choices:
            value = choice.value if isinstance(choice, Enum) else choice
            if value is not None and not isinstance(value, str | int | float):
                self.handle_invalid_for_json_schema(schema, f"the choice {choice!r}: it is no text, number, boolean or null")


def json_schema_of(adapter: TypeAdapter[Any], generator: type[GenerateJsonSchema] = _PlainSchema) -> dict[str, Json]:
    """The JSON Schema of what an adapter reads, as forms are made from it: without invented titles, without defaults of secrets."""
    return without_defaults(adapter.json_schema(mode="validation", schema_generator=generator))


def json_path(steps: Sequence[str | int]) -> str:
    """`$.a[0].b` for ("a", 0, "b")."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


class Codec(Generic[T]):
    """The JSON form of one type, as pydantic's strict JSON mode reads and writes it."""

    generator: ClassVar[type[GenerateJsonSchema]] = _PlainSchema

    def __init__(self, of: Any, *, what: str) -> None:
        """Raises: ConfigError where pydantic has no schema for the type; `what` names it to people."""
        self.of = of
        self.what = what
        try:
            self.adapter: TypeAdapter[T] = TypeAdapter(of)
        except Exception as error:  # pydantic raises several kinds here, all meaning: no schema
            raise ConfigError(field=what, problems=[f"{of!r} is not a type pydantic can read and write: {error}"]) from error
        self._schema: Json = None
        self._checked: Any = None

    def checked_json(self) -> Any:
        """A type that takes the JSON this codec takes, with the same faults, and keeps it as it was given; made once.

        What a person answered is kept like this: a typed value need not have a way back, such as a secret.
        """

        def check(value: Json) -> Json:
            self.adapter.validate_json(compact(value), strict=True)
            if found := self.unknown_secrets(value):
                lines: list[InitErrorDetails] = [{"type": _NO_VALUE, "loc": path, "input": None} for path in found]
                raise ValidationError.from_exception_data(self.what, lines)
            return value

        if self._checked is None:  # pydantic reads a type once; a new one each time would cost every agent that is built
            self._checked = Annotated[Any, PlainValidator(check)]
        return self._checked

    def unknown_secrets(self, value: Json) -> list[tuple[str | int, ...]]:
        """The secret places where a value has dots or asterisks, which say nothing."""
        places = self.secret_places()
        return [] if places is None else places.reveal(value, {}).unknown

    @cached_property
    def numbers_to_choose_from(self) -> bool:
        """Whether the type has choices that are numbers or booleans, such as `Literal[1, 2]` or an `IntEnum`."""
        return any(isinstance(choice, bool | int | float) for choice in _choices(self.schema()))

    def secret_places(self) -> SecretPlaces | None:
        """Where the type is secret; None where it is nowhere, or where JSON Schema has no words for the type."""
        try:
            return SecretPlaces.of(self.schema())
        except ConfigError:
            return None

    def schema(self) -> dict[str, Json]:
        """The JSON Schema of what `decode` takes; made once. It says nothing of the defaults of secrets."""
        if self._schema is None:
            try:
                self._schema = json_schema_of(self.adapter, self.generator)
            except Exception as error:  # a type that validates but that JSON Schema cannot describe
                raise ConfigError(field=self.what, problems=[f"{self.of!r} has no JSON Schema: {error}"]) from error
        return cast(dict[str, Json], self._schema)

    def decode(self, value: Json) -> T:
        """Raises: DecodeError with one 'path: reason' line per fault."""
        try:
            return self.adapter.validate_json(compact(value), strict=True)
        except ValidationError as error:
            problems = [f"{json_path(fault['loc'])}: {fault['msg']}" for fault in error.errors(include_url=False, include_context=False)]
            raise DecodeError(problems=problems, what=self.what) from error

    def encode(self, value: T) -> Json:
        """The value as JSON that `decode` takes. Raises: EncodeError when it is not of the type, or has no JSON form."""
        try:
            made = self.adapter.dump_python(value, mode="json", by_alias=True, round_trip=True, warnings="error")
            self.adapter.validate_json(compact(made), strict=True)
            return made
        except Exception as error:  # validation, serialisation, or whatever a user's serialiser raises
            raise EncodeError(problems=[_first_line(error)], what=self.what) from error


class ArgumentsCodec(Codec[T]):
    """The codec of a tool's arguments."""

    generator = _ArgumentsSchema


def _choices(schema: Json) -> Iterator[Json]:
    """Every value of an enum or const in a schema; of names that look like one too, which does no harm."""
    if isinstance(schema, dict):
        for keyword, inner in cast(dict[str, Json], schema).items():
            if keyword == "const":
                yield inner
            elif keyword == "enum" and isinstance(inner, list):
                yield from cast(list[Json], inner)
            else:
                yield from _choices(inner)
    elif isinstance(schema, list):
        for inner in cast(list[Json], schema):
            yield from _choices(inner)


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(f"{json_path(fault['loc'])}: {fault['msg']}" for fault in error.errors(include_url=False, include_context=False))
    return str(error).strip().partition("\n")[0] or type(error).__name__


def to_json(value: object) -> Json:
    """The JSON form of any value: of a model, a dataclass or a plain value. Raises: EncodeError."""
    if type(value) is str:
        return value
    try:
        return freeze(to_jsonable_python(value, by_alias=True))
    except EncodeError:
        raise
    except Exception as error:  # as in encode
        raise EncodeError(problems=[_first_line(error)], what=f"the {type(value).__name__}") from error
