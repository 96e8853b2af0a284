"""cvc5 in a process of its own: a batch of questions comes in, a line for each answer goes out.

Every `unsat` has a proof that cvc5 has checked step by step, every `sat` a model under which each assertion was evaluated; where
that fails cvc5 ends the process, and the questions behind it are asked of the next one.
"""

import json
import sys
from typing import Final

import cvc5

OPTIONS: Final = {
    "produce-proofs": "true",
    "check-proofs": "true",
    "check-proofs-complete": "true",
    "proof-granularity": "dsl-rewrite",
    "produce-models": "true",
    "check-models": "true",
}


def answer(script: str, limit: int) -> str:
    """Whether a script's assertions can hold together: "sat", "unsat", or "unknown" beyond `limit` resource units."""
    solver = cvc5.Solver(cvc5.TermManager())
    for name, value in {**OPTIONS, "reproducible-resource-limit": str(limit)}.items():
        solver.setOption(name, value)
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "question")
    symbols = parser.getSymbolManager()
    while not (command := parser.nextCommand()).isNull():
        command.invoke(solver, symbols)
    result = solver.checkSat()
    return "unsat" if result.isUnsat() else "sat" if result.isSat() else "unknown"


def main() -> None:
    """Read {"limit": …, "scripts": […]}, and say one answer after the other."""
    asked = json.load(sys.stdin)
    for script in asked["scripts"]:
        try:
            said = answer(script, asked["limit"])
        except RuntimeError as error:
            said = f"error: {' '.join(str(error).split())}"
        sys.stdout.write(f"{json.dumps(said)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
