"""Secrets: in a field of dots, stored as dots, typed anew or left as they are."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Secret, SecretStr

from .case import Case, do, never, refused, something, write


class Login(BaseModel):
    user: Annotated[str, never("root")]
    password: SecretStr
    token: SecretStr | None = None


class Vault(BaseModel):
    """Secrets of other types and in other places."""

    name: Annotated[str, never("bad")]
    pin: Secret[int]
    keys: dict[str, SecretStr]
    old: list[SecretStr]


CASES = [
    Case(
        "login",
        Login,
        {"user": "ana", "password": "s3cret one\nof two lines", "token": None},
        (
            write("user", "bo"),
            write("password", "n3w", python=SecretStr("n3w")),
            do("token", "t0ken", something("token"), write("token", "t0ken"), python=SecretStr("t0ken")),
        ),
        refused(write("user", "root")),
    ),
    Case(
        "vault",
        Vault,
        {"name": "x", "pin": 1234, "keys": {"a": "k1"}, "old": ["o1"]},
        (
            write("name", "y"),
            write("pin", "4321", 4321, python=Secret[int](4321)),
            write(("keys", "a"), "k2", python=SecretStr("k2")),
            write(("old", 0), "o2", python=SecretStr("o2")),
        ),
        refused(write("name", "bad")),
    ),
]
