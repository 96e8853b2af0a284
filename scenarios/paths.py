"""The test paths over the step's state graph, as programs: planned once from the model (`crashwindow walks --plan`), and kept."""

from pathlib import Path
from typing import Final

import yaml
from pydantic import TypeAdapter, ValidationError

from .schema import FOLDER, ScenarioError

FILE: Final = FOLDER / "walks" / "step.yaml"
_FILE: Final = TypeAdapter(list[tuple[str, ...]])


def paths(file: Path = FILE) -> list[tuple[str, ...]]:
    """The lines of each program. Raises ScenarioError."""
    try:
        return _FILE.validate_python(yaml.safe_load(file.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError, UnicodeDecodeError, ValidationError) as error:
        raise ScenarioError(f"{file}: no list of programs: {error}") from error


def keep(programs: list[tuple[str, ...]], file: Path = FILE) -> None:
    """Write them down. Raises OSError."""
    file.parent.mkdir(exist_ok=True)
    words = "# Planned by `crashwindow walks --plan`; each is a program of moves, run in lockstep with the model.\n\n"
    text = yaml.safe_dump([list(lines) for lines in programs], allow_unicode=True, width=10_000)
    file.write_text(words + text, encoding="utf-8")
