"""What `crashwindow campaign new` writes: a campaign and an adapter that run at once; comments say what to change."""

from importlib.resources import files
from pathlib import Path
from typing import Final

SKELETON: Final = {"adapter.py": "adapter.py.txt", "campaign.yaml": "campaign.yaml.txt"}
"""File by file, what it is made of."""


def write_skeleton(directory: Path) -> list[Path]:
    """Write the files into a directory, which is made; nothing is overwritten. FileExistsError, OSError."""
    made = [directory / name for name in SKELETON]
    for path in made:
        if path.exists():
            raise FileExistsError(f"{path}: is there already; name another directory")
    directory.mkdir(parents=True, exist_ok=True)
    for path in made:
        text = (files(__package__) / "skeleton" / SKELETON[path.name]).read_text(encoding="utf-8")
        path.write_text(text, encoding="utf-8", newline="\n")
    return made
