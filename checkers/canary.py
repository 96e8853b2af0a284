"""A planted defect before one checker: what the checker's own item says of it, as a row of the report."""

from .evidence import Item, MutantResult, Verdict


def noticed(name: str, item: Item, checker: str = "") -> MutantResult:
    """Killed where the item is refuted, and nowhere else: a checker that failed, or had nothing to say, has not said no.

    checker: who it is, where the item's own word for it is another's, too.
    """
    killed = (checker or item.checker) if item.verdict is Verdict.REFUTED else None
    return MutantResult(name=name, killed_by=killed, words=item.statement)
