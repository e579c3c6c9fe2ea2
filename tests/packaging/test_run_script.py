"""The task runner on a machine that lacks something: what it asks for, and that it asks before it does anything."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ("sh", "cat", "cksum", "tr", "find", "head", "dirname", "printf")

# A Python that is new enough and cannot make a virtual environment, as Debian ships it without python3-venv.
BARE_PYTHON = """#!/bin/sh
case "$2" in
*-venv*) printf 'python3.11-venv ' ;;
*version_info*) exit 0 ;;
*) exit 1 ;;
esac
"""


class Machine:
    """A copy of the runner, with only chosen programs to be found."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        self.programs = folder / "programs"
        self.log = folder / "called"
        self.programs.mkdir(parents=True)
        (self.tree / ".ci").mkdir(parents=True)
        for name in ("run", "pyproject.toml", ".ci/constraints.txt"):
            shutil.copy(ROOT / name, self.tree / name)
        for name in TOOLS:
            found = shutil.which(name)
            assert found is not None, name
            (self.programs / name).symlink_to(found)
        self.add("python3", BARE_PYTHON)

    def add(self, name: str, script: str) -> None:
        (self.programs / name).write_text(script)
        (self.programs / name).chmod(0o755)

    def add_recorder(self, name: str) -> None:
        self.add(name, f'#!/bin/sh\necho "{name} $*" >>"{self.log}"\n')

    def user(self, number: int) -> None:
        self.add("id", f"#!/bin/sh\necho {number}\n")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.programs / "sh"), str(self.tree / "run"), *arguments]
        return subprocess.run(command, env={"PATH": str(self.programs)}, capture_output=True, text=True, timeout=120)

    def called(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_without_root_the_one_line_to_run_is_printed_and_nothing_is_done(machine: Machine) -> None:
    """All that is missing stands in one line that can be copied; no environment is made."""
    machine.user(1000)
    machine.add_recorder("apt-get")
    done = machine.run("test")
    assert done.returncode == 1
    lines = [line.strip() for line in done.stderr.splitlines() if "apt-get" in line]
    assert lines == [
        'sudo sh -c "apt-get update && apt-get install -y --no-install-recommends '
        f'{"python3.11-venv chromium" if has_fonts() else "python3.11-venv chromium fonts-dejavu-core"}"'
    ]
    assert machine.called() == []
    assert not (machine.tree / ".venv").exists()


def has_fonts() -> bool:
    return any(Path(folder).rglob("*.[ot]tf") for folder in ("/usr/share/fonts", "/usr/local/share/fonts"))


def test_the_demo_asks_for_no_browser(machine: Machine) -> None:
    """The first command needs Python and nothing else."""
    machine.user(1000)
    machine.add_recorder("apt-get")
    done = machine.run("demo")
    assert done.returncode == 1
    assert "python3.11-venv" in done.stderr
    assert "chromium" not in done.stderr


def test_as_root_lists_are_updated_before_anything_is_installed(machine: Machine) -> None:
    """And an installation that did not help is said, not passed over."""
    machine.user(0)
    machine.add_recorder("apt-get")
    done = machine.run("demo")
    assert [line.split()[1] for line in machine.called()] == ["update", "install"]
    assert "python3.11-venv" in machine.called()[1]
    assert done.returncode == 1
    assert "still missing after apt-get install: python3.11-venv" in done.stderr


def test_on_another_system_the_names_are_given(machine: Machine) -> None:
    """No apt-get, no guess how this system installs things."""
    machine.user(1000)
    done = machine.run("test")
    assert done.returncode == 1
    assert "missing on this machine: python3.11-venv chromium" in done.stderr


def test_an_old_python_is_not_taken(machine: Machine) -> None:
    """3.10 is refused with what is needed."""
    machine.user(1000)
    machine.add("python3", "#!/bin/sh\nexit 1\n")
    done = machine.run("demo")
    assert done.returncode == 1
    assert "Python 3.11 or newer is needed" in done.stderr


@pytest.mark.parametrize(("arguments", "code"), [(("--help",), 0), ((), 0), (("dance",), 1)], ids=["help", "nothing", "unknown"])
def test_the_tasks_are_listed(machine: Machine, arguments: tuple[str, ...], code: int) -> None:
    """Also for a task that does not exist, which is a failure."""
    done = machine.run(*arguments)
    assert done.returncode == code
    for task in ("demo", "lab", "test", "check", "format", "build"):
        assert f"\n  {task} " in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("task", "there", "installed"),
    [
        ("demo", "", None),
        ("demo", "[models]", None),
        ("demo", "[dev]", None),
        ("lab", "", ".[models]"),
        ("lab", "[models]", None),
        ("lab", "[dev]", None),
        ("check", "[models]", ".[dev]"),
    ],
)
def test_a_task_installs_what_is_not_there_yet(machine: Machine, task: str, there: str, installed: str | None) -> None:
    """The lessons need the extra `models`, which the tests' extra contains; the demo needs none and removes none."""
    binaries = machine.tree / ".venv" / "bin"
    binaries.mkdir(parents=True)
    machine.add_recorder("python")
    (machine.programs / "python").rename(binaries / "python")
    machine.add("pip", f'#!/bin/sh\necho "pip $*" >>"{machine.log}"\nexit 1\n')  # nothing goes on after it
    printed = subprocess.run(
        ["cksum"],
        input=(machine.tree / "pyproject.toml").read_bytes() + (machine.tree / ".ci/constraints.txt").read_bytes(),
        capture_output=True,
        check=True,
    )
    stamp = "-".join(printed.stdout.decode().split())
    (machine.tree / ".venv" / ".installed").write_text(f"{stamp}{there}-{machine.tree}")
    machine.add("python3", "#!/bin/sh\nexit 0\n")
    machine.run(task)
    asked = [line.split()[-1] for line in machine.called() if line.startswith("pip ")]
    assert asked == ([] if installed is None else [installed])
