"""A cache of answers between the questions and Z3: the same question, to the letter, is not asked again."""

from collections.abc import Iterable, Iterator, Sequence

from ..model.invariant import Clause
from ..model.machine import Machine
from .proof_cache import Book, question_key
from .prove_encode import Encoding, assumed
from .prove_fleet_encode import State
from .prove_fleet_solve import solve_fleet
from .prove_solve import Obligation, Progress, Result, solve


class CachedSolver:
    """`prove_solve.solve` and `prove_fleet_solve.solve_fleet`, over a book of answers.

    told: answers that this process has had of Z3, for other proofs as well. keeps: whether the book is to learn them. asked,
    reused: how many questions are answered by these, and how many by the book; oldest: when the oldest reused answer was given.
    """

    def __init__(self, book: Book, told: dict[str, Result] | None = None, keeps: bool = True) -> None:
        self.book, self.keeps = book, keeps
        self.told = {} if told is None else told
        self.asked, self.reused, self.oldest = 0, 0, ""

    def solve(
        self,
        machine: Machine,
        invariant: Sequence[Clause],
        obligations: Sequence[Obligation],
        budget: int,
        progress: Progress | None = None,
    ) -> Iterator[Result]:
        """As `prove_solve.solve`; what is known is not asked."""
        code = Encoding(machine)
        free = "\n".join(code.declarations())
        bound = "\n".join([free, *assumed(code, invariant)])
        keys = [question_key(free if o.free else bound, o.goal, o.expected, budget) for o in obligations]
        new = self._new(keys, obligations)
        return self._answered(keys, obligations, new, solve(machine, invariant, list(new.values()), budget, progress))

    def solve_fleet(
        self,
        state: State,
        known: Sequence[str],
        obligations: Sequence[Obligation],
        budget: int,
        progress: Progress | None = None,
    ) -> Iterator[Result]:
        """As `prove_fleet_solve.solve_fleet`; what is known is not asked."""
        free = "\n".join(state.declarations())
        bound = "\n".join([free, *known])
        keys = [question_key(free if o.free else bound, o.goal, o.expected, budget) for o in obligations]
        new = self._new(keys, obligations)
        return self._answered(keys, obligations, new, solve_fleet(state, known, list(new.values()), budget, progress))

    def _new(self, keys: Sequence[str], obligations: Sequence[Obligation]) -> dict[str, Obligation]:
        known = self.book.entries.keys() | self.told.keys()
        return {key: o for key, o in zip(keys, obligations, strict=True) if key not in known}

    def _answered(
        self,
        keys: Sequence[str],
        obligations: Sequence[Obligation],
        new: dict[str, Obligation],
        answers: Iterable[Result],
    ) -> Iterator[Result]:
        """Every answer, in order: those of the book, and those of the solver, which are put into it unless they are none."""
        fresh = iter(answers) if new else iter(())
        kept = set[str]()
        for key, obligation in zip(keys, obligations, strict=True):
            entry = self.book.find(key) if key not in kept else None
            if entry is not None:
                self.reused += 1
                self.oldest = min(self.oldest or entry["date"], entry["date"])
                yield Result(obligation, entry["answer"], entry["rlimit"], entry["seconds"], entry["state"])
                continue
            if key not in self.told:
                self.told[key] = next(fresh)
            result = self.told[key]
            if key not in kept:
                kept.add(key)
                self._keep(key, obligation, result)
            yield Result(obligation, result.answer, result.rlimit, result.seconds, result.state)

    def _keep(self, key: str, obligation: Obligation, result: Result) -> None:
        self.asked += 1
        if self.keeps and result.answer != "unknown":
            said = {"question": obligation.name, "answer": result.answer, "state": result.state}
            self.book.add(key, {**said, "rlimit": result.rlimit, "seconds": round(result.seconds, 6)})
