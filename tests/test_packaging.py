"""What is installed is what lies in the folders: all of it, nothing else, and it starts."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES: list[str] = PYPROJECT["tool"]["setuptools"]["packages"]
ROOMS = [package.removeprefix("crashwindow.") for package in PACKAGES if package.count(".") == 1]


def run(*command: str | Path, cwd: Path, **env: str) -> str:
    """Standard output of a command; a failed one shows what it said."""
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def on_disk(*patterns: str) -> set[str]:
    """Files in the rooms, and files at the root, that match a pattern; named from the root."""
    inside = {file for room in ROOMS for pattern in patterns for file in (ROOT / room).rglob(pattern)}
    inside = {file for file in inside if ROOT / "reports/out" not in file.parents}
    return {file.relative_to(ROOT).as_posix() for pattern in patterns for file in inside | set(ROOT.glob(pattern))}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built from a copy of the tree (a left-over build/ would leak into it) and unpacked."""
    home = tmp_path_factory.mktemp("wheel")
    skip = shutil.ignore_patterns(".*", "build", "dist", "out", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, home / "tree", ignore=skip)
    run(
        sys.executable, "-c", f"from setuptools import build_meta as b; b.build_wheel({str(home)!r})", cwd=home / "tree"
    )
    (wheel,) = home.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(home / "site")
    return home / "site"


def test_packages_are_the_folders() -> None:
    """`packages` in pyproject.toml names each folder that holds Python files, sub-packages included, and no other."""
    folders = {Path(file).parent for file in on_disk("*.py")}
    assert {".".join(("crashwindow", *folder.parts)) for folder in folders} == set(PACKAGES)
    assert [str(folder) for folder in folders if not (ROOT / folder / "__init__.py").is_file()] == []


def test_the_wheel_holds_the_product(unpacked: Path) -> None:
    """A wheel holds all modules, `py.typed`, scenarios, a C source, what pages are made of; no test, nothing beside."""
    templates = on_disk("*.c", "*.css", "*.html", "*.js", "skeleton/*.txt")
    scenarios = {name for name in on_disk("*.yaml") if name.startswith("scenarios/")}
    package = unpacked / "crashwindow"
    packed = {file.relative_to(package).as_posix() for file in package.rglob("*") if file.is_file()}
    assert packed == on_disk("*.py") | {"py.typed"} | scenarios | templates
    assert {entry.name.split("-")[0] for entry in unpacked.iterdir()} == {"crashwindow"}


def test_the_wheel_starts_without_the_checkout(unpacked: Path) -> None:
    """The unpacked wheel answers `--help` by itself: it does not reach back into the checkout."""
    path = str(unpacked)
    where = run(sys.executable, "-c", "import crashwindow; print(crashwindow.__file__)", cwd=unpacked, PYTHONPATH=path)
    assert Path(where.strip()).is_relative_to(unpacked)
    assert "crashwindow" in run(sys.executable, "-m", "crashwindow", "--help", cwd=unpacked, PYTHONPATH=path)


def test_the_command_is_installed(tmp_path: Path) -> None:
    """`crashwindow --help` works from any directory."""
    command = Path(sysconfig.get_path("scripts")) / "crashwindow"
    assert "usage" in run(command, "--help", cwd=tmp_path).lower()


def test_the_command_line_loads_no_solver(tmp_path: Path) -> None:
    """Importing the command line loads neither solver nor test tools: `--help` answers at once."""
    heavy = "{'z3', 'hypothesis', 'pytest'}"
    code = f"import sys, crashwindow.__main__; print(sorted({heavy} & set(sys.modules)))"
    assert run(sys.executable, "-c", code, cwd=tmp_path).strip() == "[]"
