"""The obligations in a bundle: that each verdict's questions are all there, state their answers, and assume the same.

What is found here without any solver: an obligation that is missing; one that assumes more, or something else, than its
neighbours; a proof whose assumptions nothing shows to be possible; a rule of the model of which nothing is asked. What is not:
a goal that was exchanged for another one (`regenerated` finds that), or an answer that is wrong (`recheck`).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ...checkers.evidence import ClaimResult, Item, RunEvidence, Verdict
from ...model.fleet_claims import FLEET
from ...scenarios.machines import NAMES, machine_of
from ..bundle.contents import below, files_of
from ..view import Register
from .smtlib import Question, ScriptError, questions

SUFFIX: Final = ".smt2"
SMT2: Final = "smt2/"
WINDOWS: Final = "-windows"
CLASS: Final = "-ambiguity"
"""The proof of the ambiguity class; of two states that look the same, and of its runs, files beside it speak."""
FOUND: Final = ("-found", "-lifted")
"""How the proofs by invariants that were found end: they prove every property at once."""
ALONE: Final = ("-gate", "-compensation", "-recorded")
"""The proofs on which, beside the step's, the claims about any number of workers rest together."""
PARTS: Final = frozenset(
    {
        WINDOWS,
        CLASS,
        f"{CLASS}-twins",
        f"{CLASS}-runs",
        *(f"{works_on}{end}" for works_on in ("", *ALONE) for end in ("", *FOUND)),
    }
)
"""What may follow a policy's name in the place of a proof about it: the table's rows, the ambiguity class, what a fleet works on,
and an invariant that was found."""
EACH: Final = 2
"""How many questions of each proof the quick profile has proved again."""
FIRES: Final = re.compile(
    rb"(can fire\n(?:\(set-info :smt-lib-version 2\.6\)\n\(set-logic \w+\)\n)?\(set-info :status )(?:un)?sat"
)
"""The answer that is stated of whether a row can fire: information, which only a solver knows beforehand."""


@dataclass(frozen=True)
class Asked:
    """A question and the file in which it stands."""

    file: str
    question: Question


def asked(files: Mapping[str, bytes]) -> Iterator[Asked]:
    """Every question of a bundle. Raises ScriptError, with the file's name."""
    for name, data in files.items():
        if name.endswith(SUFFIX):
            try:
                yield from (Asked(name, question) for question in questions(data))
            except ScriptError as error:
                raise ScriptError(f"{name}: {error}") from error


def obligations(files: Mapping[str, bytes], evidence: RunEvidence, register: Register) -> list[str]:
    """What is wrong with the questions that the evidence names."""
    try:
        every = list(asked(files))
    except ScriptError as error:
        return [str(error)]
    found: list[str] = []
    counted: dict[str, int] = {}
    for place, users in files_of(evidence).items():
        mine = [each for each in every if below(place, each.file)]
        if not mine:
            continue
        counted[place] = len(mine)
        found += [*_numbered(place, files), *_alike(place, mine), *_covers(place, mine)]
        for claim, item in users:
            found += _speaks(claim, item, place, mine, register)
    refuting = {
        place: sum(each.question.status == "unsat" for each in every if below(place, each.file)) for place in counted
    }
    policies = {claim.id: claim.policy for claim in register.claims}
    for result in evidence.claims:
        for item in result.items:
            found += _answers(result.claim, item, counted)
        words = _again(result, policies.get(result.claim), refuting, evidence.run.profile)
        found += [f"claim {result.claim}: {each}" for each in words]
    return found


def _again(result: ClaimResult, policy: str | None, refuting: Mapping[str, int], profile: str) -> Iterator[str]:
    """Whether the second opinions are on every proof that the claim rests on, if there are any; and each of them."""
    opinions = [i for i in result.items if i.checker == "reprove" and i.verdict in (Verdict.PROVED, Verdict.TESTED)]
    due = {place for item in result.items if item.checker != "reprove" for place in item.files if place in refuting}
    if policy == FLEET:
        due |= {place for part in ALONE if (place := f"{SMT2}{FLEET}{part}{SUFFIX}") in refuting}
    missing = sorted(due - {place for opinion in opinions for place in opinion.files})
    if opinions and missing:
        yield f"cvc5 was not asked about {', '.join(missing)}"
    for opinion in opinions:
        yield from _reproved(opinion, refuting, profile)


def _reproved(item: Item, refuting: Mapping[str, int], profile: str) -> Iterator[str]:
    """Whether a second opinion is on some questions of its proofs, in the deep profile on all. That rows of the table follow is
    not all that is claimed of it: such an opinion proves nothing.
    """
    asked, proved = (item.figures.get(name) for name in ("obligations", "proofs checked"))
    if not isinstance(asked, int) or not isinstance(proved, int):
        yield "it does not say how many questions cvc5 was asked, and how many proofs were checked"
        return
    places = [refuting.get(place, 0) for place in item.files]
    least = sum(places) if profile == "deep" else sum(min(EACH, number) for number in places)
    if proved < least or asked < proved:
        yield f"cvc5 is said to have proved {proved} of {asked} questions, and {least} at least were to be proved"
    part = any(place.endswith(f"{WINDOWS}/") for place in item.files)
    if (item.verdict is Verdict.PROVED) != (profile == "deep" and not part):
        yield f"a second opinion in the profile {profile} is not {item.verdict}"


def _numbered(place: str, files: Mapping[str, bytes]) -> Iterator[str]:
    """The files of a proof are numbered: a gap is a file that somebody took away."""
    if place.endswith("/"):
        numbers = [name.removeprefix(place).partition("-")[0] for name in files if below(place, name)]
        for number in range(len(numbers)):
            if f"{number:03}" not in numbers:
                yield f"{place}: obligation {number:03} is missing"
                return


def _alike(place: str, mine: list[Asked]) -> Iterator[str]:
    """All questions of a proof assume the same, but for those that assume nothing beyond what values the fields have."""
    groups = Counter(each.question.assumed for each in mine)
    most = max(groups, key=lambda group: (groups[group], len(group)))
    declared = [command for command in most if command.startswith("(declare")]
    for each in mine:
        given = each.question.assumed
        shorter = given == most[: len(given)] and set(declared) <= set(given)
        if given != most and not shorter:
            more = [command for command in given if command not in most]
            what = f"it assumes {more[0][:80]}" if more else "it lacks what they assume"
            yield f"{each.file}: {each.question.name!r} does not assume what its neighbours do: {what}"
    if not any(each.question.status == "sat" and each.question.assumed == most for each in mine):
        yield f"{place}: no question shows that what is assumed can hold"


def _covers(place: str, mine: list[Asked]) -> Iterator[str]:
    """Of a machine's proof, and of the one on which its ambiguity class rests: each rule of the model is asked about."""
    policy = place.removeprefix(SMT2).removesuffix("/").removesuffix(f"{CLASS}{SUFFIX}")
    if not policy.endswith(SUFFIX) and policy in NAMES:
        names = {each.question.name for each in mine}
        for rule in machine_of(policy).rules:
            if f"{rule.name} keeps the invariant" not in names:
                yield f"{place}: nothing is asked about the rule {rule.name!r}"


def _speaks(claim: str, item: Item, place: str, mine: list[Asked], register: Register) -> Iterator[str]:
    """Whether a proof is of the model that the claim is about, and asks about the property that the item names."""
    known = next((each for each in register.claims if each.id == claim), None)
    if known is None or not place.startswith(SMT2):
        return
    proved = place.removeprefix(SMT2).removesuffix("/").removesuffix(SUFFIX)
    if not (proved.startswith(known.policy) and proved.removeprefix(known.policy) in PARTS):
        yield f"{place}: claim {claim} is about {known.policy}, and this is no proof of it"
    named = (
        [name for name in known.properties if item.statement.startswith(f"{name} ")] if item.checker == "prove" else []
    )
    if item.checker == "prove" and item.verdict is Verdict.PROVED and not proved.endswith(FOUND):
        if proved == f"{known.policy}{WINDOWS}":
            yield f"{place}: claim {claim} is said to be proved by it, and it is the proof of the table of windows"
        elif known.properties and not named:
            yield f"{place}: claim {claim} rests on it, and the item names none of {', '.join(known.properties)}"
    for name in named:
        if not any(_about(name, each.question.name) for each in mine):
            yield f"{place}: claim {claim} rests on it, and nothing in it is asked about {name}"


def _about(prop: str, question: str) -> bool:
    """Whether a question is about a property: it names it; what P5 asks of each write has words of its own."""
    return (
        question.startswith(f"{prop} ")
        or question.endswith(f" keeps {prop}")
        or (prop == "P5" and question.endswith(" is fenced"))
    )


def _answers(claim: str, item: Item, counted: Mapping[str, int]) -> Iterator[str]:
    """Whether what an item says it has asked was there to be asked."""
    number = item.figures.get("obligations")
    there = sum(counted.get(place, 0) for place in item.files)
    said = item.figures.get("questions in files")
    if item.checker == "prove" and there and said != there:
        yield f"{', '.join(item.files)}: claim {claim} rests on {said} questions, and there are {there}"
    if item.checker == "prove" and item.files and isinstance(number, int) and number > there:
        yield f"claim {claim}: {number} obligations are said to be met, and there are {there}"
    if item.checker == "reprove" and item.verdict == "PROVED" and isinstance(number, int) and number < there:
        yield f"claim {claim}: {number} of {there} questions are said to be asked again, and PROVED needs all"
    if item.checker == "reprove" and isinstance(number, int) and number > there + len(item.files):
        yield f"claim {claim}: {number} questions are said to be asked again, and there are {there}"


def regenerated(files: Mapping[str, bytes], due: Mapping[str, bytes]) -> tuple[list[str], int, int]:
    """Where questions are not those that are due; how many files are, and how many are of proofs of which none is due."""
    there = [name for name in files if name.endswith(SUFFIX)]
    proofs = {_proof_of(name) for name in due}
    found = [
        f"{name}: this program asks no such thing" for name in there if name not in due and _proof_of(name) in proofs
    ]
    begun = {_proof_of(name) for name in there}
    for name, data in due.items():
        if name in files and FIRES.sub(rb"\1", files[name]) != FIRES.sub(rb"\1", data):
            found.append(f"{name}: it is not what this program asks of its model")
        elif name not in files and _proof_of(name) in begun:
            found.append(f"{name}: this program asks it of its model, and it is missing")
    return found, sum(name in due for name in there), sum(_proof_of(name) not in proofs for name in there)


def _proof_of(name: str) -> str:
    return "/".join(name.split("/")[:2])
