"""An audit: every check, in order, over the bytes of a bundle."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ...checkers.evidence import Item, RunEvidence
from ...checkers.evidence_code import code_sha256
from ...scenarios.due import Due
from ...scenarios.due_stages import items_of_run
from ..bundle.archive import ArchiveError, unpack
from ..bundle.contents import derived
from ..bundle.manifest import listed
from ..bundle.merkle import merkle_root
from ..bundle.statement import key_id
from ..view import REGISTER, Register
from . import content, items, obligations, parts, replays, seal, tables, totals, verdicts
from .outcome import Audit, Check, judged
from .recheck import NoSolverError, Progress, recheck
from .sentences import sentences
from .stream_claims import unreplayed
from .stream_replay import replay_streams
from .streams import streams


@dataclass(frozen=True)
class Anew:
    """What this program makes anew: obligations, by the names that they have in a bundle; and tried sentences, by claim."""

    obligations: Callable[[], Mapping[str, bytes]]
    sentences: Callable[[], Mapping[str, Item]]


ToDo = Callable[[], Check | tuple[list[str], str]]
"""A check that is to be done: what it says, or the problems, and what was looked at where there is none."""
ABSENT: Final = "there is no evidence that could be read"
WORDS: Final = 200
"""How many characters of an unforeseen error a finding repeats."""
CODELESS: Final = frozenset({"streams", "recheck"})
"""The checks of the contents that compare with nothing that this program states: links of hashes, and cvc5's answers."""


@dataclass(frozen=True)
class Asked:
    """What an audit is to be about: the trusted key, if there is one; whether cvc5 is asked; what is made anew, if anything;
    the register, and the items that a run of a profile owes, by claim.
    """

    key: Ed25519PublicKey | None = None
    recheck: bool = False
    regenerate: Anew | None = None
    register: Register = REGISTER
    due: Callable[[str], Mapping[str, Sequence[Due]]] = items_of_run
    progress: Progress | None = None


def audit(data: bytes, asked: Asked) -> Audit:
    """Every check of a bundle. Raises ArchiveError for what is no archive of a bundle: nothing in it is looked at then."""
    files = unpack(data)
    signed, trusted, sealed = _seal(files, asked)
    try:
        evidence = content.read(files)
    except content.EvidenceUnreadError as error:
        checks = [*sealed, Check("evidence", "FAIL", (str(error),)), Check("others", "NOT DONE", (ABSENT,))]
    else:
        sealed.append(_done("statement", lambda: _statement(files, evidence)))
        checks = [*sealed, *_contents(files, evidence, asked)]
    return Audit(tuple(checks), merkle_root(listed(files)).hex(), signed, trusted)


def _seal(files: Mapping[str, bytes], asked: Asked) -> tuple[bool, bool, list[Check]]:
    """Whether it is signed, and by the trusted key, with the checks that say so."""
    number = len(listed(files))
    checks = [
        Check("archive", "PASS", (f"{len(files)} plain files, in order, nothing behind them",)),
        judged("manifest", seal.manifest(files), f"{number} files are those that it lists"),
        judged("merkle root", seal.root(files), f"over {number} files"),
    ]
    try:
        opened = seal.opened(files)
    except seal.EnvelopeError as error:
        return False, False, [*checks, Check("envelope", "FAIL", (str(error),))]
    checks.append(judged("envelope", seal.envelope(opened), "a DSSE envelope of an in-toto statement"))
    if not opened.signatures:
        return False, False, [*checks, Check("signature", "NOT DONE", ("UNSIGNED: nobody vouches for this bundle",))]
    if asked.key is None:
        words = "UNTRUSTED: there is a signature, and no key was given to verify it with (--key)"
        return True, False, [*checks, Check("signature", "NOT DONE", (words,))]
    problems = seal.signature(opened, asked.key)
    return True, not problems, [*checks, judged("signature", problems, f"Ed25519, by the key {key_id(asked.key)}")]


def _statement(files: Mapping[str, bytes], evidence: RunEvidence) -> Check:
    try:
        problems = seal.says(seal.opened(files), files, evidence)
    except (seal.EnvelopeError, KeyError) as error:
        problems = [f"the statement cannot be compared: {error}"]
    return judged(
        "statement", problems, "its subjects are this manifest and this evidence; it says what follows from them"
    )


def _contents(files: Mapping[str, bytes], evidence: RunEvidence, asked: Asked) -> list[Check]:
    checks = [_done(name, check) for name, check in _checks(files, evidence, asked).items()]
    own = evidence.run.code_sha256 == code_sha256()
    return checks if own else [_of_other_code(check) for check in checks]


def _done(name: str, check: ToDo) -> Check:
    """A check. Whatever ends it before its time is a finding: it says what nobody has thought of."""
    try:
        found = check()
        return found if isinstance(found, Check) else judged(name, *found)
    except Exception as error:
        return Check(name, "FAIL", (f"the check ended before its time: {type(error).__name__}: {str(error)[:WORDS]}",))


def _checks(files: Mapping[str, bytes], evidence: RunEvidence, asked: Asked) -> dict[str, ToDo]:
    """What is to be checked of the contents, by name and in order."""
    register = asked.register
    traces, others = replays.counted(evidence)
    number = sum(len(result.items) for result in evidence.claims)
    due = cache(lambda: derived(evidence, register))
    return {
        "evidence": lambda: (content.schema(files, due()), "strict JSON, of this program's schema"),
        "code": lambda: _code(evidence),
        "register": lambda: (content.register(files, register), f"{len(register.claims)} claims, as in this program"),
        "claims": lambda: (content.claims(evidence, register), "each claim of the register once, and no other"),
        "reports": lambda: (content.reports(files, due()), "each is what this program makes of the evidence"),
        "traces": lambda: (content.traces(files, due()), f"{traces + others} runs, as in the evidence"),
        "files": lambda: (content.every_file(files, evidence, due()), "each is derived, or a verdict rests on it"),
        "items": lambda: _items(evidence, asked.due(evidence.run.profile), number),
        "verdicts": lambda: (verdicts.verdicts(evidence, register), _verdict_words(evidence, number)),
        "totals": lambda: (totals.totals(evidence, register), "figures that are told twice, or add up, agree"),
        "tables": lambda: (tables.tables(evidence), "windows, scenarios, edges and the matrix are this program's"),
        "parts": lambda: (parts.parts(evidence), "campaigns, mutants, planted defects, graphs and coverage are all there"),
        "outcome": lambda: (content.outcome(evidence, register), "every verdict is the expected one, says the evidence"),
        "models": lambda: ([*replays.models(evidence, register), *parts.searched(evidence)],
               f"{len(evidence.machines)} models are this program's, with as many states and transitions as it states"),
        "replays": lambda: (replays.replays(evidence, register),
               f"{traces} runs of models, by the interpreter alone; {others} of the runtime are no model's"),
        "sentences": lambda: _retried(evidence, others, asked),
        "obligations": lambda: (obligations.obligations(files, evidence, register),
               "all there, each states its answer, all assume the same"),
        "goals": lambda: _regenerated(files, asked),
        "streams": lambda: _chained(files),
        "runs": lambda: _runs(files, evidence),
        "recheck": lambda: _rechecked(files, asked),
    }  # fmt: skip


def _chained(files: Mapping[str, bytes]) -> tuple[list[str], str]:
    """The links of event streams, computed anew."""
    found = streams(files)
    return found.problems, found.words


def _of_other_code(check: Check) -> Check:
    """What other code than the run's makes of its evidence may be something else, though nobody has altered it."""
    if check.verdict != "FAIL" or check.name in CODELESS:
        return check
    return Check(check.name, "NOT DONE", ("not as this program, whose code is not the run's, has it:", *check.words))


def _items(evidence: RunEvidence, due: Mapping[str, Sequence[Due]], number: int) -> Check:
    """Whether those that are due are there. A run that says itself that a part failed did not pass, and need not have them."""
    if evidence.errors:
        return Check("items", "NOT DONE", (f"a part of the run failed, says the evidence: {evidence.errors[0]}",))
    words = f"{number} are beside their claims, each once, as a run of the profile {evidence.run.profile} has them"
    return judged("items", items.items(evidence, due), words)


def _runs(files: Mapping[str, bytes], evidence: RunEvidence) -> Check:
    """Real runs, replayed in the models by the interpreter alone."""
    made = replay_streams(files)
    problems = [*made.problems, *unreplayed(files, evidence, made)]
    if not made.streams and not problems:
        return Check("runs", "NOT DONE", ("the bundle holds no event stream",), asked=False)
    return judged("runs", problems, made.words)


def _verdict_words(evidence: RunEvidence, items: int) -> str:
    alone = verdicts.by_words(evidence)
    return f"{items} verdicts follow from what stands beside them; of {alone} that is a sentence and a command"


def _code(evidence: RunEvidence) -> Check:
    own = code_sha256()
    if evidence.run.code_sha256 == own:
        return Check("code", "PASS", (f"the run was of this program's code, {own}",))
    words = (
        f"the run was of the code {evidence.run.code_sha256} (commit {evidence.run.commit}); this program's is {own}"
    )
    return Check("code", "NOT DONE", (f"{words}: audit it with that commit",))


def _regenerated(files: Mapping[str, bytes], asked: Asked) -> Check:
    if asked.regenerate is None:
        return Check("goals", "NOT DONE", ("--regenerate compares each obligation with the model's",), asked=False)
    problems, known, others = obligations.regenerated(files, asked.regenerate.obligations())
    more = f"; {others} ask about invariants that were found, and are in no model" if others else ""
    return judged("goals", problems, f"{known} files of obligations are what this program asks of its models{more}")


def _retried(evidence: RunEvidence, told: int, asked: Asked) -> Check:
    if asked.regenerate is None:
        words = f"--regenerate tries each sentence of the seeds anew; the runs of {told} are told"
        return Check("sentences", "NOT DONE", (words,), asked=False)
    problems, number = sentences(evidence, asked.register, asked.regenerate.sentences())
    return judged(
        "sentences", problems, f"{number} sentences, tried on this program's runtime, come to the same, run for run"
    )


def _rechecked(files: Mapping[str, bytes], asked: Asked) -> Check:
    if not asked.recheck:
        return Check("recheck", "NOT DONE", ("--recheck asks cvc5 every obligation",), asked=False)
    try:
        problems, number = recheck(files, asked.progress)
    except NoSolverError as error:
        return Check("recheck", "NOT DONE", (str(error),))
    return judged(
        "recheck", problems, f"cvc5 gives the stated answer to each of {number} questions, proofs and models checked"
    )


__all__ = ["Anew", "ArchiveError", "Asked", "audit"]
