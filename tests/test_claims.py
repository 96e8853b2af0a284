"""The claim register is complete, consistent, and its citations resolve."""

import hashlib
import re
from pathlib import Path

import pytest

from crashwindow.checkers.evidence import Verdict
from crashwindow.model.claim_types import PROPERTY_BY_ID
from crashwindow.model.claims import ASSUMPTIONS, CLAIM_BY_ID, CLAIMS, DOCUMENTS, REASONS, Citation
from crashwindow.model.seed_claims import SEED_CLAIMS
from crashwindow.model.seed_claims_s1 import ROW_WINDOWS
from crashwindow.model.windows import BY_ID
from crashwindow.scenarios.machines import NAMES

SEEDS = Path(__file__).parents[2] / "shared" / "seeds"
STRONG = re.compile("保证|禁止|必须|不会|至多|仅|不允许")
"""Words with which the seeds make a promise, or set a bound."""
NO_PROMISE = {
    ("S1", 87): "the name of another document, in a list of references",
    ("S3", 15): "a fault of the code before the design",
    ("S3", 16): "a fault of the code before the design",
}
"""Lines with such a word that promise nothing, and why."""
NO_SENTENCE = {
    "what the document is about": {("S0", 10), ("S1", 3), ("S2", 3), ("S4", 10)},
    "an introduction to what follows": {
        ("S0", 18),
        ("S0", 34),
        ("S0", 45),
        ("S0", 59),
        ("S1", 20),
        ("S2", 25),
        ("S4", 22),
    },
    "the head of a table": {("S0", 36), ("S0", 74), ("S1", 71)},
    "a plan of the other project's work": {("S2", 32)},
    "a reference": {
        *(("S1", line) for line in range(85, 91)),
        *(("S2", line) for line in range(50, 53)),
        *(("S4", line) for line in range(108, 112)),
    },
}
"""Lines of S0, S1, S2 and S4 that no claim cites, by what they are."""
CITATIONS = [(claim.id, citation) for claim in CLAIMS for citation in claim.citations]


def test_the_register_is_consistent() -> None:
    """Ids are unique; policies, properties, assumptions and verdicts exist; a refuted claim stands beside its hardened form."""
    assert len(CLAIM_BY_ID) == len(CLAIMS)
    for claim in CLAIMS:
        assert claim.policy in NAMES
        assert set(claim.properties) <= set(PROPERTY_BY_ID)
        assert set(claim.assumptions) <= set(ASSUMPTIONS)
        assert Verdict(claim.expected)
        assert claim.formal
        assert claim.citations
        if claim.expected == "REFUTED":
            assert claim.variant == "as_written"
            assert claim.hardened is not None
            assert CLAIM_BY_ID[claim.hardened].variant == "hardened"
        assert (claim.kind == "unchecked") is (claim.expected == "NOT CHECKED") is (claim.id in REASONS)


def test_every_property_is_claimed() -> None:
    """No property is checked that the register does not name, and none of the register's is missing."""
    assert {p for claim in CLAIMS for p in claim.properties} == set(PROPERTY_BY_ID)


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the user's documents do not lie beside this checkout")
@pytest.mark.parametrize(("claim", "citation"), CITATIONS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_citation_resolves(claim: str, citation: Citation) -> None:
    """The cited lines of the user's document have the registered SHA-256."""
    lines = (SEEDS / DOCUMENTS[citation.document]).read_text(encoding="utf-8").split("\n")
    first, last = citation.lines
    assert hashlib.sha256("\n".join(lines[first - 1 : last]).encode()).hexdigest() == citation.sha256, claim


def strong_lines() -> set[tuple[str, int]]:
    """Document and number of every line with a strong word."""
    return {
        (name, number)
        for name, file in DOCUMENTS.items()
        for number, line in enumerate((SEEDS / file).read_text(encoding="utf-8").split("\n"), 1)
        if STRONG.search(line)
    }


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the user's documents do not lie beside this checkout")
def test_every_strong_line_is_cited() -> None:
    """Each line that says must, never, only, at most is cited by a claim, but for those that promise nothing."""
    cited = {(c.document, line) for _, c in CITATIONS for line in range(c.lines[0], c.lines[1] + 1)}
    strong = strong_lines()
    assert len(strong) > 30
    assert strong - cited == NO_PROMISE.keys()


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the user's documents do not lie beside this checkout")
@pytest.mark.parametrize("name", ["S0", "S1", "S2", "S4"])
def test_every_line_is_cited(name: str) -> None:
    """Each line of the four documents that is no heading is cited by a claim, but for those that are said to be no sentence."""
    lines = (SEEDS / DOCUMENTS[name]).read_text(encoding="utf-8").split("\n")
    said = {number for number, line in enumerate(lines, 1) if re.search(r"\w", line) and not line.startswith("#")}
    cited = {line for _, c in CITATIONS if c.document == name for line in range(c.lines[0], c.lines[1] + 1)}
    assert said - cited == {line for places in NO_SENTENCE.values() for document, line in places if document == name}


def test_the_register_holds_the_four_seeds() -> None:
    """S0, S1, S2 and S4 have more than eighty claims of their own, and at most five of them are not checked."""
    assert len(SEED_CLAIMS) > 80
    assert {citation.document for claim in SEED_CLAIMS for citation in claim.citations} == {"S0", "S1", "S2", "S4"}
    assert sum(claim.kind == "unchecked" for claim in SEED_CLAIMS) <= 5


def test_the_rows_of_the_seed_name_windows() -> None:
    """Each row of S1's table is refined by windows that exist, and is a claim."""
    for claim, (windows, effects) in ROW_WINDOWS.items():
        assert CLAIM_BY_ID[claim].kind == "rows"
        assert set(windows) <= BY_ID.keys()
        assert effects == frozenset().union(*(BY_ID[window].in_end for window in windows))
