"""Values that are written and not read back: each is what its text decodes to, and everything else is still read back (D4, D17)."""

from __future__ import annotations

import dataclasses
import enum
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, TypeAdapter, field_validator

from llm4s_notebook.errors import EncodeError
from llm4s_notebook.graph._codec import Codec
from llm4s_notebook.graph._exact import FROZEN, INEXACT, WHOLE, exact_kinds
from llm4s_notebook.models import AssistantMessage, FrozenDict, FrozenList, Message, ToolCall, freeze


@dataclass(frozen=True, slots=True)
class Cat:
    name: str
    lives: int = 9
    kind: Literal["cat"] = "cat"


@dataclass(frozen=True, slots=True)
class Dog:
    name: str | None
    barks: bool = False
    friends: tuple[Cat, ...] = ()
    kind: Literal["dog"] = "dog"


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


@dataclass(frozen=True, slots=True)
class Home:
    pets: tuple[Pet, ...]
    first: Cat | None = None
    note: Any = None


@dataclass(frozen=True, slots=True)
class Sure:
    """It says of itself that once made it stays so."""

    exact_once_made: ClassVar[bool] = True
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name.strip())


@dataclass(frozen=True, slots=True)
class Only:
    one: str


UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

_names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_numbers = st.integers() | st.sampled_from([1 << 63, -(1 << 64), 10**4299, -(10**4298)])
_cats = st.builds(Cat, _names, _numbers)
_dogs = st.builds(Dog, st.none() | _names, st.booleans(), st.lists(_cats, max_size=2).map(tuple))
_homes = st.builds(Home, st.lists(_cats | _dogs, max_size=3).map(tuple), st.none() | _cats, st.none() | st.booleans() | _numbers | _names)
EXACT: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (str, _names),
    (int, _numbers),
    (bool, st.booleans()),
    (None, st.none()),
    (str | None, st.none() | _names),
    (Literal["a", "b"], st.sampled_from(["a", "b"])),
    (Pet, _cats | _dogs),
    (Home, _homes),
    (tuple[Home, ...], st.lists(_homes, max_size=2).map(tuple)),
    (Only, st.builds(Only, _names)),
    (Sure, st.builds(Sure, _names)),
    (Any, _names | _numbers | st.none() | st.booleans()),
]


def _deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


_json = st.recursive(
    st.none() | st.booleans() | _numbers | _names, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3)
)
WRITTEN: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (Any, _json),
    (Any, _json.map(freeze)),
    (Home, st.builds(Home, st.just(()), st.none(), st.lists(_json, min_size=1, max_size=2))),
    (tuple[Any, ...], st.lists(st.dictionaries(_names, _json, max_size=2), min_size=1, max_size=2).map(tuple)),
    (Mapping[str, Cat], st.dictionaries(_names, _cats, max_size=2)),
    (ToolCall, st.builds(ToolCall, _names, _names, _json)),
    (Message, st.builds(AssistantMessage, st.none() | _names, st.builds(ToolCall, _names, _names, _json).map(lambda call: (call,)))),
]


@UNTIMED
@given(st.one_of([st.tuples(st.just(declared), values) for declared, values in EXACT]))
def test_an_exact_value_is_what_its_text_decodes_to(case: tuple[Any, Any]) -> None:
    """D4: the text is the very one that pydantic writes, it is read again strictly, and gives an equal value."""
    declared, value = case
    codec = Codec[Any](declared)
    data, kept = codec.settle(value)
    assert kept is value
    assert data == codec.adapter.dump_json(value, by_alias=True, round_trip=True, warnings="error")
    again = codec.decode(data)
    assert again == value
    assert repr(again) == repr(value)


@UNTIMED
@given(st.one_of([st.tuples(st.just(declared), values) for declared, values in WRITTEN]))
def test_what_holds_json_is_written_exactly_and_read_back_as_another_object(case: tuple[Any, Any]) -> None:
    """D12, D17: what a reader is given has no part that whoever made the value can still change."""
    declared, value = case
    codec = Codec[Any](declared)
    data, kept = codec.settle(value)
    assert data == codec.adapter.dump_json(value, by_alias=True, round_trip=True) == codec.encode(value)
    assert kept == codec.decode(data) == value
    assert not _parts(value) & _parts(kept)


@UNTIMED
@given(st.tuples(st.just(ToolCall), st.builds(ToolCall, _names, _names, _json)) | st.tuples(st.just(Home), _homes))
def test_what_is_frozen_is_kept_where_nobody_else_holds_it(case: tuple[Any, Any]) -> None:
    """D17: a value whose every object and array refuses changes; one with any other part is read back all the same."""
    declared, value = case
    codec = Codec[Any](declared)
    data, kept = codec.settle(value, kept=FROZEN)
    assert kept is value
    assert codec.decode(data) == value


@pytest.mark.parametrize("note", [{"a": 1}, [1], FrozenDict({"a": {"b": 1}}), FrozenList([freeze({}), [1]]), freeze(_deep(150))])
def test_a_value_with_a_part_that_can_be_changed_is_read_back_wherever_it_comes_from(note: Any) -> None:
    """D17, STA-08: so is one that lies so deep that only reading it tells whether it can be read."""
    value = Home((), None, note)
    codec = Codec[Any](Home)
    assert codec.settle(value, kept=FROZEN)[1] is not value


@dataclass(frozen=True, slots=True)
class Texts:
    of: str | None
    more: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Numbers:
    of: int
    more: tuple[int, ...]


@pytest.mark.parametrize(("right", "wrong"), [((Texts, "a", ("b",)), (Numbers, 1, (2,))), ((Numbers, 1, (2,)), (Texts, "a", ("b",)))])
def test_classes_whose_fields_have_the_same_names_are_told_apart(right: tuple[Any, Any, Any], wrong: tuple[Any, Any, Any]) -> None:
    """D4: each field is checked against the types declared in its own class, by itself and in what it holds."""
    declared, of, more = right
    check = exact_kinds(TypeAdapter(declared).core_schema)[declared]
    assert check is not None
    assert check(declared(of, more)) == WHOLE
    for made in (declared(wrong[1], more), declared(of, wrong[2]), declared(True, more), declared(of, (*more, True))):
        assert check(made) == INEXACT


def test_a_field_may_have_a_name_that_no_code_can_say() -> None:
    """D4: a class without an `__init__` of dataclass's making may name a field by a keyword; its values are read back like any others."""
    odd = dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)(type("Odd", (), {"__annotations__": {"class": str}}))
    assert not exact_kinds(TypeAdapter(odd).core_schema)


def _parts(value: Any) -> set[int]:
    """The objects and arrays in a value, by identity."""
    inner: Any = ()
    if isinstance(value, dict):
        inner = cast(dict[str, Any], value).values()
    elif isinstance(value, list | tuple):
        inner = cast(list[Any], value)
    elif dataclasses.is_dataclass(value):
        inner = [getattr(value, one.name) for one in dataclasses.fields(value)]
    own = {id(cast(object, value))} if isinstance(value, dict | list) else set[int]()
    return own.union(*map(_parts, inner))


class Name(str):
    pass


class Colour(enum.StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Open:
    """It has a __dict__, where anything may be kept that its text does not show."""

    name: str


class Noted:
    __slots__ = ("note",)


@dataclass(frozen=True, slots=True)
class Remembering(Noted):
    """It can hold something that is no field."""

    name: str


@dataclass(slots=True)
class Changeable:
    name: str


@dataclass(frozen=True, slots=True)
class Made:
    """Made again it is another one."""

    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name.removesuffix("!") + "!")


@dataclass(frozen=True, slots=True)
class Heir(Made):
    """It says nothing of the `__post_init__` that it inherits."""


@dataclass(frozen=True, slots=True)
class Unsure(Sure):
    """An heir has to say it again."""

    def __post_init__(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Checked:
    name: Annotated[str, Field(max_length=3)]


@dataclass(frozen=True, slots=True)
class Renamed:
    name: str
    other: Annotated[str, Field(alias="else")] = "x"


@dataclass(frozen=True, slots=True)
class Lower:
    name: str

    @field_validator("name")
    @classmethod
    def low(cls, name: str) -> str:
        return name.lower()


@dataclass(frozen=True, slots=True)
class Stripped:
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(str_strip_whitespace=True)
    name: str


@dataclass(frozen=True, slots=True)
class Ring:
    inner: Ring | None = None


@dataclass(frozen=True, slots=True)
class Twin:
    """What reads like a Cat, with no property that tells them apart."""

    name: str
    lives: int = 9
    kind: str = "cat"


class Model(BaseModel):
    model_config = ConfigDict(frozen=True)
    name: str


READ_BACK: list[tuple[Any, Any]] = [
    (str, Name("x")),
    (str | None, Name("x")),
    (Only, Only(Name("x"))),
    (int, True),
    (Cat, Cat("x", True)),
    (str, "9" * 4301),
    (float, 1.5),
    (Colour, Colour.RED),
    (Any, {"a": 1.5}),
    (Any, [{1: 2}]),
    (Any, (1, 2)),
    (dict[int, str], {1: "x"}),
    (list[str], ["x"]),
    (Home, Home((), None, {"a": [1.5]})),
    (Open, Open("x")),
    (Remembering, Remembering("x")),
    (Changeable, Changeable("x")),
    (Made, Made("x")),
    (Heir, Heir("x")),
    (Unsure, Unsure("x")),
    (Checked, Checked("abc")),
    (Renamed, Renamed("x")),
    (Lower, Lower("x")),
    (Stripped, Stripped("x")),
    (Cat | Twin, Cat("x")),
    (Ring, Ring(Ring())),
    (Model, Model(name="x")),
    (Annotated[str, AfterValidator(str.lower)], "x"),
    (Annotated[str, PlainSerializer(str.lower)], "x"),
    (Annotated[tuple[str, ...], Field(min_length=1)], ("x",)),
    (tuple[str, int], ("x", 1)),
]


@pytest.mark.parametrize(("declared", "value"), READ_BACK, ids=map(str, range(len(READ_BACK))))
def test_a_value_that_is_not_certain_is_read_back(declared: Any, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """D4, D17: whatever a type's author had pydantic do still happens, and nothing that can be changed is shared."""
    codec = Codec[Any](declared)
    read: list[bytes] = []
    load = codec._load  # pyright: ignore[reportPrivateUsage]  # where a text is read back

    def loaded(data: bytes, *, strict: bool) -> Any:
        read.append(data)
        return load(data, strict=strict)

    monkeypatch.setattr(codec, "_load", loaded)
    data, kept = codec.settle(value)
    assert read == [data]
    assert kept == codec.decode(data)


WRONG: list[tuple[Any, Any]] = [
    (str, 5),
    (bool, 1),
    (Literal["a"], "b"),
    (Only, Only(5)),  # type: ignore[arg-type]
    (Cat, Cat("x", "9")),  # type: ignore[arg-type]
    (Cat, Cat("x", 9, "dog")),  # type: ignore[arg-type]
    (Pet, Cat("x", 9, "dog")),  # type: ignore[arg-type]
    (Pet, Only("x")),
    (Dog, Dog("x", False, [Cat("y")])),  # type: ignore[arg-type]
    (Dog, Dog("x", False, (Dog("y"),))),  # type: ignore[arg-type]
    (Home, Home((), Dog("x"))),  # type: ignore[arg-type]
    (Home, Home((Cat("\ud800"),))),
    (str, "\ud800"),
    (int, 10**4300),
    (Cat, Cat("x", 10**4300)),
    (Checked, Checked("abcd")),
    (Only, Only.__new__(Only)),  # whose field nobody has set
    (Home, Home((Cat.__new__(Cat),))),
]


@pytest.mark.parametrize(("declared", "value"), WRONG, ids=map(str, range(len(WRONG))))
def test_a_value_of_another_type_is_refused_as_before(declared: Any, value: Any) -> None:
    """D4: a field holds what its class never checked; the refusal is pydantic's, whichever way was tried first."""
    with pytest.raises(EncodeError):
        Codec[Any](declared).settle(value)


def test_a_number_too_long_to_be_read_is_refused_whatever_python_may_print() -> None:
    """D4: a process that lets Python print longer numbers still stores none that pydantic does not read."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        for declared, value in ((int, 10**4300), (Cat, Cat("x", 10**4300))):
            with pytest.raises(EncodeError):
                Codec[Any](declared).settle(value)
    finally:
        sys.set_int_max_str_digits(limit)


def test_a_schema_that_says_more_than_is_known_has_no_exact_values() -> None:
    """What a later pydantic may write beside a type is not read over."""
    assert exact_kinds({"type": "str"}) == {str: None}
    assert exact_kinds({"type": "str", "to_lower": True}) == {}
    assert exact_kinds({"type": "something new"}) == {}
    assert exact_kinds({"type": "nullable", "schema": {"type": "str"}, "strict": True}) == {}
    assert exact_kinds({"type": "definition-ref", "schema_ref": "nobody"}) == {}


@pytest.mark.parametrize("levels", [250, 900, 100_000])
def test_what_is_too_deep_to_be_read_is_refused(levels: int) -> None:
    """D4: a text that pydantic does not read is not stored, whoever would have written it."""
    value: Any = []
    for _ in range(levels):
        value = [value]
    for declared, deep in ((Any, value), (Home, Home((), None, value))):
        with pytest.raises(EncodeError):
            Codec[Any](declared).encode(deep)


@pytest.mark.parametrize(
    ("declared", "values"),
    [
        (int, [0, -7, 10**30, 10**4299]),
        (str, ["", "plain", 'q"\\\n\u2028é', "x" * 5000]),
        (int | None, [1, None, 2]),
        (int, [1, True]),
        (bool, [True, False]),
        (Any, ["a", 1, True, None, {"deep": [1.5, {}]}, [[]]]),
        (Cat, [Cat("a"), Cat("b", 3)]),
        (float, [1.5, 2.0]),
        (str, []),
    ],
)
def test_payloads_together_are_written_as_each_alone(declared: Any, values: list[Any]) -> None:
    """D4, R1.23: the texts of a fan-out are those of its payloads, and what the values decode to."""
    codec = Codec[Any](declared)
    texts = codec.encode_all(values)
    assert texts == [codec.encode(value) for value in values]
    assert [codec.decode(text) for text in texts] == values


@pytest.mark.parametrize(
    ("declared", "values"),
    [(str, ["fine", "\ud800"]), (int, [1, "2"]), (int, [1, 10**4300]), (Any, [1, float("nan")]), (str, ["a", None])],
)
def test_one_bad_payload_among_many_is_refused(declared: Any, values: list[Any]) -> None:
    """D4, R3.3: as it is alone."""
    codec = Codec[Any](declared)
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        with pytest.raises(EncodeError):
            codec.encode_all(values)
    finally:
        sys.set_int_max_str_digits(limit)
