"""What the tests of real providers share: no test leaves this machine, and none reads a key of whoever runs it."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from llm4s_notebook.testing._provider_server import ProviderServer

KEYS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "GOOGLE_API_KEY", "GEMINI_API_KEY")

CONNECTED = pytest.StashKey[list[socket.socket]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """M1.6: once a test and its loop are over, so is every connection that was made, by whom ever; nothing is left to a collector.

    What it looks at is whether this test's own sockets are closed, so it depends on no other test's garbage.
    """
    yield
    left = [one for one in item.stash.get(CONNECTED, []) if one.fileno() != -1]
    shown = [f"from {one.getsockname()}" for one in left]
    for one in left:
        one.close()
    assert not left, f"{len(left)} connections were left open: {', '.join(shown)}"


@pytest.fixture(autouse=True)
def loopback_only(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to anywhere else fails the test that tried, and one that is left open fails the test that left it."""
    made = request.node.stash[CONNECTED] = []
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def checked(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not ipaddress.ip_address(address[0]).is_loopback:
            pytest.fail(f"a test tried to reach {address}")
        made.append(self)

    def guarded(self: socket.socket, address: Any) -> None:
        checked(self, address)
        connect(self, address)

    def guarded_ex(self: socket.socket, address: Any) -> int:
        checked(self, address)
        return connect_ex(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_ex)
    # Each client reads the certificate authorities, which takes a tenth of a second; plain HTTP on loopback asks for none.
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_args, **_named: None)
    for name in (*KEYS, "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    """A provider on loopback that answers with what the test scripts."""
    with ProviderServer() as running:
        yield running
