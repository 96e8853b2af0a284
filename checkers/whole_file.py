"""Files that are replaced as a whole: who reads one meets what was there before or what was written, whoever else writes it."""

import os
from pathlib import Path


def partial_of(file: Path) -> Path:
    """A name beside a file that no other writer has, of this process or another: two under one name write into each other."""
    return file.with_name(f"{file.name}.{os.urandom(8).hex()}.partial")


def replace_file(file: Path, text: str) -> None:
    """Put a text in a file's place. Raises OSError, and leaves what was there."""
    partial = partial_of(file)
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(file)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
