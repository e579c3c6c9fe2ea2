"""Whether somebody sits in front of this notebook, and whether its cells can wait for them."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from llm4s_notebook.widgets import _notebook
from llm4s_notebook.widgets._notebook import Notebook


def kernel(monkeypatch: pytest.MonkeyPatch, request: Any) -> None:
    """A shell whose running request is this one; None stands for a shell without a kernel."""
    module = ModuleType("IPython")
    kernel = SimpleNamespace(get_parent=lambda channel: request)
    shell = SimpleNamespace() if request is None else SimpleNamespace(kernel=kernel)
    module.get_ipython = lambda: shell  # type: ignore[attr-defined]  # a stand-in
    monkeypatch.setitem(sys.modules, "IPython", module)


@pytest.mark.parametrize(
    ("request_", "there"),
    [
        ({"content": {"allow_stdin": True}}, True),
        ({"content": {"allow_stdin": False}}, False),
        ({"content": {}}, False),
        ({}, False),
        (None, False),
    ],
)
def test_somebody_is_there_when_the_running_request_allows_input(monkeypatch: pytest.MonkeyPatch, request_: Any, there: bool):
    """F27: a program that runs a notebook allows none; what is not a clear yes is a no."""
    kernel(monkeypatch, request_)
    assert Notebook().somebody_there() is there


def test_nobody_is_there_outside_a_notebook(monkeypatch: pytest.MonkeyPatch):
    """A script has no kernel."""
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert Notebook().somebody_there() is False


def test_a_cell_can_wait_in_the_kernel_this_package_asks_for():
    """W5.1."""
    assert Notebook().cannot_wait() is None


@pytest.mark.parametrize("version", ["6.29.5", "5.1.0"])
def test_a_cell_cannot_wait_in_an_older_kernel(monkeypatch: pytest.MonkeyPatch, version: str):
    """W5.1: it would deadlock; the message says what to do instead."""
    monkeypatch.setattr(_notebook.metadata, "version", lambda name: version)
    reason = Notebook().cannot_wait()
    assert reason is not None
    assert f"ipykernel {version}" in reason
    assert "`console.result` in the next" in reason


@pytest.mark.parametrize("host", ["emscripten", "marimo"])
def test_a_cell_cannot_wait_in_a_browsers_python_nor_in_marimo(monkeypatch: pytest.MonkeyPatch, host: str):
    """W5.1: a person is there, and is told to show the widget in one cell and to read its result in the next."""
    if host == "emscripten":
        monkeypatch.setattr(sys, "platform", "emscripten")
    else:
        marimo = ModuleType("marimo")
        marimo.running_in_notebook = lambda: True  # type: ignore[attr-defined]  # a stand-in
        monkeypatch.setitem(sys.modules, "marimo", marimo)
    notebook = Notebook()
    assert notebook.somebody_there()
    reason = notebook.cannot_wait()
    assert reason is not None
    assert "show the widget in one cell" in reason
