"""What a page of the documentation shows: its console commands, with what they print, and the files that it has one write."""

import os
import re
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

END = "== end of command"
SHIMS = {"crashwindow": "-m crashwindow", "python": ""}
"""Commands of a page that are run by this interpreter, each with what stands in front of its arguments."""


class Shown(NamedTuple):
    """A command and the lines that are shown below it; '…' stands for anything."""

    command: str
    output: list[str]


def shown(text: str) -> list[Shown]:
    """The commands of all console blocks, in order."""
    found: list[Shown] = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        assert block.startswith("$ ")
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Shown(line[2:], []))
            else:
                found[-1].output.append(line)
    return found


def printed(
    commands: list[str], folder: Path, seconds: float, shims: Mapping[str, str] = SHIMS, **variables: str
) -> list[str]:
    """What each command prints, all of them run in one shell. variables: of its environment."""
    (folder / "bin").mkdir()
    for name, arguments in shims.items():
        shim = folder / "bin" / name
        shim.write_text(f'#!/bin/sh\nexec {sys.executable} {arguments} "$@"\n')
        shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
    script = "\n".join(f"{command}\necho '{END}'" for command in commands)
    env = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "COLUMNS": "200"} | variables
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout.split(f"{END}\n")[:-1]


def pattern(output: list[str]) -> str:
    """A pattern for what is shown: '…' alone on a line stands for any number of lines, within one for a part of it."""
    lines = [r"(?:.*\n)*?" if line == "…" else f"{re.escape(line).replace('…', '.*?')}[ ]*\n" for line in output]
    return "".join(lines)


def written(text: str) -> dict[str, str]:
    """The files that a page has one write: blocks of Python or YAML whose first line is a comment with a name."""
    block = r"^```(?:python|yaml)\n# (\w+\.(?:py|yaml))\n(.*?)^```$"
    return dict(re.findall(block, text, flags=re.MULTILINE | re.DOTALL))
