"""cvc5 in a process of its own: a line with a question comes in, a line with its answer goes out.

A process of its own, because cvc5 ends the process when a proof of its own does not stand its check. Every `unsat` has a proof
that was checked step by step and contains no trusted step; every `sat` has a model under which each assertion was evaluated.
"""

import json
import sys
from collections.abc import Mapping
from typing import Final

import cvc5

OPTIONS: Final = {
    "produce-proofs": "true",
    "check-proofs": "true",
    "check-proofs-complete": "true",
    "proof-granularity": "dsl-rewrite",
    "proof-print-reference": "true",
    "produce-models": "true",
    "check-models": "true",
}
"""What cvc5 is told before each question."""


def ask(script: str, limit: int, proof: bool) -> dict[str, str | int]:
    """Whether a script's assertions can hold together: answer, resource units, and the proof of an `unsat` where it is wanted.

    `limit` is in cvc5's resource units; beyond it the answer is "unknown".
    """
    solver = cvc5.Solver(cvc5.TermManager())
    for name, value in {**OPTIONS, "reproducible-resource-limit": str(limit)}.items():
        solver.setOption(name, value)
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "question")
    symbols = parser.getSymbolManager()
    while not (command := parser.nextCommand()).isNull():
        command.invoke(solver, symbols)
    result = solver.checkSat()
    answer = "unsat" if result.isUnsat() else "sat" if result.isSat() else "unknown"
    units = int(solver.getStatistics()["resource::resourceUnitsUsed"]["value"])
    text = _proof(solver) if proof and answer == "unsat" else ""
    return {"answer": answer, "units": units, "proof": text}


def _proof(solver: cvc5.Solver) -> str:
    """The proof in cvc5's own calculus (CPC), without the parentheses around it, as checkers of that calculus read it."""
    text = solver.proofToString(solver.getProof()[0], cvc5.ProofFormat.CPC)
    return (text.decode() if isinstance(text, bytes) else text).strip().removeprefix("(").removesuffix(")")


def main() -> None:
    """Answer until the input ends; an error is an answer of its own, with cvc5's words."""
    _say({"version": cvc5.__version__})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = ask(request["script"], request["limit"], request["proof"])
        except RuntimeError as error:
            answer = {"answer": "error", "units": 0, "proof": "", "words": str(error).strip()}
        _say(answer)


def _say(words: Mapping[str, str | int]) -> None:
    sys.stdout.write(f"{json.dumps(words)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
