"""Texts: of one line and several, with patterns and lengths, and the formats that pydantic knows."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Network
from pathlib import Path as FilePath
from typing import Annotated
from uuid import UUID

from pydantic import AnyUrl, Base64Bytes, BaseModel, Field, HttpUrl, StringConstraints

from .case import Case, never, refused, refused_here, write


class Note(BaseModel):
    """Plain texts."""

    title: str
    body: str = Field(description="as long as you like")
    motto: str = ""
    calm: Annotated[str, never("LOUD")] = "so"


class Release(BaseModel):
    """Texts with rules."""

    version: str = Field(pattern=r"^\d+\.\d+\.\d+$")
    short: str = Field(min_length=2, max_length=5)
    python_only: str = Field(default="a", json_schema_extra={"pattern": "(?P<x>a)"})
    tidy: Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True, min_length=1)]


class Addresses(BaseModel):
    """Texts that stand for something else."""

    ident: UUID
    link: AnyUrl
    site: HttpUrl
    host: IPv4Address
    net: IPv6Network
    file: FilePath


class Raw(BaseModel):
    """Bytes, as text and in base64."""

    data: bytes
    packed: Base64Bytes


IDENT = "123e4567-e89b-12d3-a456-426614174000"

CASES = [
    Case(
        "note",
        Note,
        {"title": "Über 🙂", "body": "one\r\ntwo\r\n\r\n  three", "motto": "", "calm": "x"},
        (
            write("title", "  spaces stay  "),
            write("body", "uno\ndue\n", "uno\r\ndue\r\n"),
            write("motto", "Ana"),
            write("calm", '<script>alert("1")</script>'),
        ),
        refused(write("calm", "LOUD")),
    ),
    Case(
        "release",
        Release,
        {"version": "1.4.0", "short": "abc", "python_only": "a", "tidy": " Up "},
        (
            write("version", "10.0.12"),
            write("short", "🙂🙂🙂🙂🙂"),
            write("python_only", "anything"),
            write("tidy", "  DOWN ", python="down"),
        ),
        refused(write("tidy", "   ")),
    ),
    Case(
        "addresses",
        Addresses,
        {
            "ident": IDENT,
            "link": "x:y",
            "site": "https://example.org/a?b=c#d",
            "host": "10.0.0.1",
            "net": "2001:db8::/32",
            "file": "/tmp/a b.txt",
        },
        (
            write("ident", IDENT.replace("1", "2"), python=UUID(IDENT.replace("1", "2"))),
            write("link", "mailto:a@example.org", python=AnyUrl("mailto:a@example.org")),
            write("site", "http://example.org:8080/ä", python=HttpUrl("http://example.org:8080/ä")),
            write("host", "192.168.7.1", python=IPv4Address("192.168.7.1")),
            write("net", "2001:db8:1::/48", python=IPv6Network("2001:db8:1::/48")),
            write("file", "./notes.md", python=FilePath("notes.md")),
        ),
        refused(write("ident", "not-a-uuid")),
    ),
    Case(
        "raw",
        Raw,
        {"data": "bytes as text\nof two lines", "packed": "aGVsbG8="},
        (write("data", "ä", python="ä".encode()), write("packed", "d29ybGQ=", python=b"world")),
        refused(write("packed", "a")),
    ),
    Case(
        "line",
        Annotated[str, Field(min_length=1, max_length=20)],
        "a text alone",
        (write((), "another"),),
        refused_here(write((), "")),
    ),
]
