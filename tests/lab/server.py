"""A JupyterLab or a Notebook 7 of its own: fresh settings, fresh folders, no token, gone when the block ends."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Application = Literal["lab", "notebook"]

SETTINGS: dict[str, dict[str, object]] = {
    # Lab asks the network for news and updates unless told otherwise, and its dialogs would cover the notebook.
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True},
    # Every cell stands in the page, on screen or not, so that the n-th one is the n-th one.
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}


@dataclass(frozen=True)
class LabServer:
    """A running server: its address, and the folder it shows."""

    url: str
    root: Path
    application: Application

    def address(self, name: str) -> str:
        """Where a notebook of the folder is opened, in a clean workspace."""
        return f"{self.url}/lab/tree/{name}?reset" if self.application == "lab" else f"{self.url}/notebooks/{name}"


@contextlib.contextmanager
def lab_server(application: Application = "lab") -> Iterator[LabServer]:
    """Start JupyterLab, or Notebook 7, on a folder of its own and a free port; end it, with its kernels, when the block ends."""
    home = Path(tempfile.mkdtemp(prefix="lab-"))
    root = home / "root"
    root.mkdir()
    with (home / "server.log").open("w") as log:
        process = subprocess.Popen(
            _command(application, free_port(), root), stdout=log, stderr=subprocess.STDOUT, env=_environment(home), cwd=root
        )
        try:
            url = _address(process, home)
            wait_until_up(process, f"{url}/api/status", home / "server.log")
            yield LabServer(url, root, application)
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            shutil.rmtree(home, ignore_errors=True)


def _command(application: Application, port: int, root: Path) -> list[str]:
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": 50,  # somebody may have taken it meanwhile
        "ServerApp.root_dir": root,
        "ServerApp.open_browser": False,
        "ServerApp.password": "",
        "IdentityProvider.token": "",
        # Commands reach the application directly; clicks on its menus race with the focus right after loading.
        ("LabApp" if application == "lab" else "JupyterNotebookApp") + ".expose_app_in_browser": True,
    }
    command = [sys.executable, "-m", "jupyter", application, "--no-browser", "--allow-root"]
    return command + [f"--{name}={value}" for name, value in options.items()]


def _environment(home: Path) -> dict[str, str]:
    for name, values in SETTINGS.items():
        file = (home / "settings" / name).with_suffix(".jupyterlab-settings")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values), encoding="utf-8")
    folders = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    return {**os.environ, **{variable: str(home / folder) for variable, folder in folders.items()}}


def _address(process: subprocess.Popen[bytes], home: Path) -> str:
    """Where the server listens in the end, as it writes it down for others."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        for file in (home / "runtime").glob("jpserver-*.json"):
            with contextlib.suppress(ValueError):  # not written to its end yet
                return json.loads(file.read_text(encoding="utf-8"))["url"].rstrip("/")
        time.sleep(0.05)
    raise RuntimeError(f"the server did not come up:\n{(home / 'server.log').read_text()[-3000:]}")


def wait_until_up(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Wait until a server that was started answers at an address; say what it wrote if it does not."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            urllib.request.urlopen(url, timeout=10).read()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"the server did not come up:\n{log.read_text()[-3000:]}")


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
