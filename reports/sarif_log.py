"""SARIF 2.1.0 from rules and results, whatever they are about. It holds no time, and no path of this machine but a given root."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final, Literal
from urllib.parse import quote

from .words import plain

VERSION: Final = "2.1.0"
SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT: Final = "%SRCROOT%"
"""What paths are relative to, by the name that GitHub knows."""

Json = dict[str, Any]
Level = Literal["error", "warning", "note"]


def rule(name: str, short: str, full: str, help_text: str = "", **properties: object) -> Json:
    """What results may be about. properties: such as tags."""
    made: Json = {
        "id": plain(name),
        "name": plain(name),
        "shortDescription": {"text": plain(short)},
        "fullDescription": {"text": plain(full)},
        "help": {"text": plain(help_text or f"{short}: {full}")},
    }
    return {**made, "properties": properties} if properties else made


def place(file: str, line: int | None = None, words: str = "") -> Json:
    """A location: a file, its path relative to the root, and a line of it. words: what happens there."""
    found: Json = {"artifactLocation": {"uri": quote(file), "uriBaseId": ROOT}}
    if line:
        found["region"] = {"startLine": line}
    return {"physicalLocation": found, **({"message": {"text": plain(words)}} if words else {})}


def result(name: str, level: Level, words: str, where: Json, same: str, **more: object) -> Json:
    """One result of a rule. same: what tells it from every other one, in this run and the next; more: such as its code flows."""
    return {
        "ruleId": plain(name),
        "level": level,
        "message": {"text": plain(words)},
        "locations": [where],
        # Many results lie in one line: what tells them apart goes under the key that GitHub reads, too.
        "partialFingerprints": {
            "primaryLocationLineHash": f"{hashlib.sha256(same.encode()).hexdigest()[:16]}:1",
            "crashwindow/v1": plain(same),
        },
        **more,
    }


def sarif_log(rules: Sequence[Json], results: Sequence[Json], root: Json, **properties: object) -> str:
    """The document. root: what is known of the directory that paths are relative to; properties: of the run."""
    run: Json = {
        "tool": {"driver": {"name": "crashwindow", "rules": list(rules)}},
        "originalUriBaseIds": {ROOT: root},
        "columnKind": "unicodeCodePoints",
        "results": list(results),
    }
    if properties:
        run["properties"] = properties
    log = {"$schema": SCHEMA, "version": VERSION, "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"
