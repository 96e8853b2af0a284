"""Where an adapter lies: its class by name, its file, and the files on which it depends. Nothing is imported for that."""

import ast
import inspect
import json
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.metadata import distributions
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from .adapter import Subject

_INSTALLED: Final = ("__pycache__", "node_modules", "site-packages")
"""Directories whose releases are known otherwise, or that are made of what lies beside them."""


def name_of(adapter: type | str) -> str:
    """An adapter's class by name, so that another process finds it: in its module, where that can be imported, or in its
    file."""
    if isinstance(adapter, str):
        return adapter
    file = inspect.getfile(adapter)
    found = _file_of(adapter.__module__)
    same = found is not None and found.resolve() == Path(file).resolve()
    return f"{adapter.__module__ if same else file}:{adapter.__qualname__}"


def source_of(subject: Subject) -> Path | None:
    """The file that holds a subject's adapter; of a command's words the first that is a file, below the working directory if one
    is. None where there is none."""
    if subject.command:
        files = _words(subject)
        near = [file for file in files if file.resolve().is_relative_to(Path.cwd())]
        return next(iter(near or files), None)
    where = subject.adapter.rpartition(":")[0]
    file = Path(where) if where.endswith(".py") else _file_of(where)
    return file if file is not None and file.is_file() else None


def place_of(subject: Subject) -> tuple[str, int]:
    """The file of a subject's adapter, and the line of its class, 1 where that is not found; "" where there is no file."""
    file = source_of(subject)
    if file is None:
        return "", 1
    name = subject.adapter.rpartition(":")[2]
    body = ast.parse(file.read_bytes()).body if name else []
    lines = [node.lineno for node in body if isinstance(node, ast.ClassDef) and node.name == name]
    return str(file.resolve()), next(iter(lines), 1)


def files_of(subject: Subject) -> dict[str, Path]:
    """Whatever changes a subject's adapter, by name: the Python files beside it and below, which it may import, and those of
    distributions that are installed to be edited; of a command its own files, and those of their kind beside and below them."""
    named = dict[str, Path]()
    if subject.command:
        here = Path.cwd()
        for file in _words(subject):
            named[file.name] = file
            if file.suffix and file.resolve().is_relative_to(here):
                named |= _below(file.parent, file.suffix)
        return named
    for place in editable():
        named |= {str(file): file for file in _below(place, ".py").values()}
    source = source_of(subject)
    return named | (_below(source.parent, ".py") if source is not None else {})


def editable() -> list[Path]:
    """The directories of the distributions that are installed to be edited: what a release says of them may be old."""
    found = []
    for each in distributions():
        told = json.loads(each.read_text("direct_url.json") or "{}")
        if told.get("dir_info", {}).get("editable"):
            found.append(Path(url2pathname(urlsplit(told["url"]).path)))
    return found


def _below(place: Path, suffix: str) -> dict[str, Path]:
    """The files of a kind in a directory and below it, but for environments, installed packages, and what is hidden."""
    found = dict[str, Path]()
    for directory, inner, files in os.walk(place):
        inner[:] = sorted(
            each
            for each in inner
            if not each.startswith(".") and each not in _INSTALLED and not Path(directory, each, "pyvenv.cfg").exists()
        )
        for name in sorted(files):
            if name.endswith(suffix):
                file = Path(directory, name)
                found[str(file.relative_to(place))] = file
    return found


def _words(subject: Subject) -> list[Path]:
    return [file for file in map(Path, subject.command) if file.is_file()]


def _file_of(module: str) -> Path | None:
    """Where a module lies, whether or not it is loaded: what is loaded here need not be importable elsewhere."""
    path: Sequence[str] | None = None
    spec = None
    for number in range(module.count(".") + 1):
        spec = _found(".".join(module.split(".")[: number + 1]), path)
        if spec is None:
            return None
        path = spec.submodule_search_locations
    return Path(spec.origin) if spec is not None and spec.origin is not None else None


def _found(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    found = (finder.find_spec(name, path) for finder in sys.meta_path)
    return next((spec for spec in found if spec is not None), None)
