"""`docs/contract.md` and its pictures say what `model.contract` says, all of it, and nothing else.

`CRASHWINDOW_REWRITE_GOLDEN=1 pytest tests/test_contract_docs.py` writes the generated parts and the pictures anew.
"""

import os
import re
from pathlib import Path

import pytest

from crashwindow.model.contract import ADDED, AS_WRITTEN, HARDENED, RULES, Status
from crashwindow.reports import contract_page
from crashwindow.reports.contract_page import current, parts, pictures

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "contract.md"


def made() -> dict[str, str]:
    """The files as they should be; only the page keeps what people wrote."""
    return {**pictures(), PAGE.name: current(PAGE.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("name", ["contract.md", "contract.svg", "contract-as-written.svg"])
def test_the_docs_are_current(name: str) -> None:
    """Page and pictures are, byte for byte, what the tables give."""
    text = made()[name]
    if os.environ.get("CRASHWINDOW_REWRITE_GOLDEN"):
        (DOCS / name).write_text(text, encoding="utf-8", newline="\n")
    assert (DOCS / name).read_text(encoding="utf-8") == text


def test_a_stale_page_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """With another table the page on disk is no longer current: the test above can fail."""
    fewer = {state: row for state, row in HARDENED.items() if state is not Status.UNKNOWN}
    monkeypatch.setattr(contract_page, "HARDENED", fewer)
    page = PAGE.read_text(encoding="utf-8")
    assert current(page) != page
    assert pictures()["contract.svg"] != (DOCS / "contract.svg").read_text(encoding="utf-8")


def test_what_people_wrote_stays() -> None:
    """Writing the parts anew twice is writing them once, and the text around them is untouched."""
    page = PAGE.read_text(encoding="utf-8")
    emptied = re.sub(r"(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->)", r"\1old\n\3", page, flags=re.DOTALL)
    assert emptied != page
    assert current(emptied) == page
    assert current(page.replace("# The execution contract", "# Another title")).startswith("# Another title\n")


@pytest.mark.parametrize("change", ["drop", "twice", "strange"])
def test_a_page_without_its_parts_is_refused(change: str) -> None:
    """A marker that was lost, doubled or misspelt is an error, not a part that goes stale in silence."""
    page = PAGE.read_text(encoding="utf-8")
    lines = {
        "drop": page.replace("<!-- end rules -->", ""),
        "twice": page + "<!-- begin rules -->\n<!-- end rules -->\n",
        "strange": page.replace("begin rules", "begin rule").replace("end rules", "end rule"),
    }
    with pytest.raises(ValueError, match="each once"):
        current(lines[change])


def cells(name: str) -> list[list[str]]:
    """The rows of a generated Markdown table, without marks."""
    rows = [line.strip("| ").split(" | ") for line in parts()[name].splitlines()[2:]]
    return [[cell.replace("`", "") for cell in row] for row in rows]


def test_the_table_holds_both_machines() -> None:
    """Read back, the Markdown table is S3's machine in one column and the hardened one in the next, with the rules."""
    rows = cells("table")
    for column, machine in ((2, AS_WRITTEN), (3, HARDENED)):
        read = {(row[0], row[1], row[column]) for row in rows if row[column] != "undefined"}
        assert read == {(state, trigger, to) for state, edges in machine.items() for trigger, to in edges.items()}
    named = {(rule, row[0], row[1], row[3]) for row in rows if row[4] != "–" for rule in row[4].split(", ")}
    assert named == set(ADDED)


def test_every_rule_is_there_with_its_edges() -> None:
    """The rules stand in their order, each with its sentence and the number of edges that it adds."""
    counts = {rule: sum(edge.rule == rule for edge in ADDED) for rule in RULES}
    assert cells("rules") == [[rule, words, str(counts[rule] or "none")] for rule, words in RULES.items()]


def test_the_diagram_is_the_hardened_table() -> None:
    """Read back, the Mermaid block has every edge of the hardened table, and no other."""
    found = re.findall(r"^    (\w+) --> (\w+) : (\w+)", parts()["diagram"], flags=re.MULTILINE)
    edges = [(state, to, trigger) for state, row in HARDENED.items() for trigger, to in row.items()]
    assert found == edges


def test_links_lead_somewhere() -> None:
    """The page links both pictures, and each of its relative links names a file."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", PAGE.read_text(encoding="utf-8"))
    assert set(pictures()) <= set(links)
    assert [link for link in links if not (DOCS / link).exists()] == []
