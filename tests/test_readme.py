"""The README does not lie: every command in it runs, and prints what stands there."""

import re
import shutil
from pathlib import Path

import pytest

from crashwindow.commands.table import COMMANDS
from crashwindow.tests.shown_commands import Shown, pattern, printed, shown

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
NOT_RUN = {"make verify", "make test"}
"""They take minutes, and run the tests themselves."""


def shown_to_run() -> list[Shown]:
    """The commands that are run here."""
    return [entry for entry in shown(README) if entry.command.partition("#")[0].strip() not in NOT_RUN]


def test_every_command_runs_and_prints_what_is_shown(tmp_path: Path) -> None:
    """From a directory that holds the examples, from top to bottom."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    entries = shown_to_run()
    for entry, output in zip(entries, printed([entry.command for entry in entries], tmp_path, 100), strict=True):
        if entry.output:
            assert re.fullmatch(pattern(entry.output), output), f"$ {entry.command}\n{output}"


def test_there_is_something_to_run() -> None:
    """The test above is not vacuous: it finds the example's commands, and leaves out only what is named."""
    commands = [entry.command for entry in shown_to_run()]
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
