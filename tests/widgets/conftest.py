"""Front ends for the tests of the widgets."""

from __future__ import annotations

from collections.abc import Iterator

import comm
import ipywidgets
import pytest

from .front_end import FakeComm, FakeFrontEnd, KernelFrontEnd, KernelPool


@pytest.fixture
def front(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeFrontEnd]:
    """A front end in this process: every widget made during the test opens its comm on it."""
    front = FakeFrontEnd()
    kind = type("Comm", (FakeComm,), {"front": front})
    monkeypatch.setattr(comm, "create_comm", lambda *args, **settings: kind(*args, **settings))
    yield front
    ipywidgets.Widget.close_all()


@pytest.fixture(scope="session")
def kernels() -> Iterator[KernelPool]:
    """The kernels that tests use one after the other."""
    pool = KernelPool()
    yield pool
    pool.close()


@pytest.fixture
def kernel(kernels: KernelPool) -> Iterator[KernelFrontEnd]:
    """A notebook's side of a kernel whose namespace is empty; the process may have served another test before."""
    kernel = kernels.take()
    yield kernel
    kernels.give_back(kernel)


@pytest.fixture
def fresh_kernel() -> Iterator[KernelFrontEnd]:
    """A kernel that nothing has run in, for a test that restarts it or patches its loop."""
    kernel = KernelFrontEnd.start()
    yield kernel
    kernel.close()
