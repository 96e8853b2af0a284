"""The claim register is complete, consistent, and its citations resolve."""

import hashlib
from pathlib import Path

import pytest

from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.machines import NAMES
from crashwindow.model.claim_types import PROPERTY_BY_ID
from crashwindow.model.claims import ASSUMPTIONS, CLAIM_BY_ID, CLAIMS, DOCUMENTS, Citation
from crashwindow.model.contract_claims import REASONS

SEEDS = Path(__file__).parents[2] / "shared" / "seeds"
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
