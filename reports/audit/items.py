"""Whether the items beside each claim are those that a run of its profile owes: none missing, none added, none made stronger."""

from collections.abc import Mapping, Sequence

from ...checkers.evidence import RunEvidence
from ...scenarios.due import Due, differences


def items(evidence: RunEvidence, due: Mapping[str, Sequence[Due]]) -> list[str]:
    """Every item that is not as this program states, by its claim. due: by claim."""
    found = [
        f"claim {result.claim}, {words}"
        for result in evidence.claims
        for words in differences(due.get(result.claim, ()), result.items)
    ]
    for result in evidence.claims:
        for item in result.items:
            _, names_one, seed = item.command.partition(" --seed ")
            if names_one and seed != str(evidence.run.seed):
                found.append(
                    f"claim {result.claim}, {item.checker}: it is repeated with the seed {seed[:20]}, not the run's"
                )
    return found
