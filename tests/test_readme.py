"""The README does not lie: every command in it runs, and prints what stands there."""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from crashwindow.__main__ import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
NOT_RUN = {"make verify", "make test"}
"""They take minutes, and run the tests themselves."""
END = "== end of command"


class Shown(NamedTuple):
    """A command of the README and the lines that are shown below it; '…' stands for anything."""

    command: str
    output: list[str]


def shown() -> list[Shown]:
    """The commands of all console blocks, in order."""
    found: list[Shown] = []
    for block in re.findall(r"^```console\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL):
        assert block.startswith("$ ")
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Shown(line[2:], []))
            else:
                found[-1].output.append(line)
    return [entry for entry in found if entry.command.partition("#")[0].strip() not in NOT_RUN]


def printed(commands: list[str], folder: Path) -> list[str]:
    """What each command prints, all of them run in one shell."""
    (folder / "bin").mkdir()
    for name, arguments in (("crashwindow", "-m crashwindow"), ("python", "")):
        shim = folder / "bin" / name
        shim.write_text(f'#!/bin/sh\nexec {sys.executable} {arguments} "$@"\n')
        shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
    script = "\n".join(f"{command}\necho '{END}'" for command in commands)
    env = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "COLUMNS": "200"}
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout.split(f"{END}\n")[:-1]


def pattern(output: list[str]) -> str:
    """A pattern for what is shown: '…' alone on a line stands for any number of lines, within one for a part of it."""
    lines = [r"(?:.*\n)*?" if line == "…" else f"{re.escape(line).replace('…', '.*?')}[ ]*\n" for line in output]
    return "".join(lines)


def test_every_command_runs_and_prints_what_is_shown(tmp_path: Path) -> None:
    """From a directory that holds the examples, from top to bottom."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    entries = shown()
    for entry, output in zip(entries, printed([entry.command for entry in entries], tmp_path), strict=True):
        if entry.output:
            assert re.fullmatch(pattern(entry.output), output), f"$ {entry.command}\n{output}"


def test_there_is_something_to_run() -> None:
    """The test above is not vacuous: it finds the example's commands, and leaves out only what is named."""
    commands = [entry.command for entry in shown()]
    assert sum("crashwindow " in command for command in commands) >= 3
    assert all(name in README for name in NOT_RUN)


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_every_command_is_listed(command: str) -> None:
    """The table names each command that there is."""
    assert f"`crashwindow {command}" in README


def test_links_lead_somewhere() -> None:
    """Each relative link names a file or a folder of the repository."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
