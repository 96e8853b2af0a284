"""What the stores hold about one job, as data: what the page of a job is made from, and what `report-job --format json` writes.

A JSON value that a plan, a tool, a model or a person handed in stands here as the text that was stored, or as RFC 8785 writes
it: a text can be hashed and shown, whatever is in it. Times are seconds since the epoch, by the store's clock.
"""

from typing import Final, Literal

from .evidence_base import Base

JOB_SCHEMA_VERSION: Final = 1

Standing = Literal[
    "happened", "undone", "did not happen", "in doubt", "not begun", "under way", "answered", "refused", "waits"
]
"""What the record says of a step. An effect `happened`, was `undone`, `did not happen`, or is `in doubt`: a call was begun, and
no record says what became of it. A model or a person has `answered`, or `refused`; a node `waits` for somebody.
"""


class Criterion(Base):
    """One criterion of `verify-job`: what it asks for, and where it is violated: at which event, where there is one, and why."""

    name: str
    asks: str
    holds: bool
    event: int | None
    reason: str | None


class JobVerdict(Base):
    """The verdict of `verify-job`. head: the last link of the chain. rests_on: on whose word it rests. warned: see `Verdict`."""

    verifiable: bool
    head: str | None
    criteria: tuple[Criterion, ...]
    rests_on: tuple[str, ...]
    warned: int

    @property
    def violated(self) -> tuple[Criterion, ...]:
        """The criteria that are violated."""
        return tuple(each for each in self.criteria if not each.holds)


class JobEvent(Base):
    """An event byte for byte as it is stored. sha256: of its data. chained: whether the chain is whole up to it."""

    version: int
    id: str
    type: str
    step: str | None
    epoch: int | None
    at: float
    data: str
    sha256: str
    link: str
    chained: bool


class Attempt(Base):
    """One execution: the event that began it, the one that says how it ended, if any does, and what that says.

    resolved: no answer came, and a query or a person said afterwards whether it happened.
    """

    number: int
    epoch: int | None
    began: int
    ended: int | None
    outcome: Literal["success", "no_effect", "unknown", "resolved"] | None
    error: str | None


class Note(Base):
    """What an event adds to a step, in words: a retry that was granted, an answer, a recorded input, a warning."""

    event: int
    words: str
    data: str


class ModelCall(Base):
    """What a language model was asked and answered (E-LLM), and the decision that led to the question, by the event's id."""

    provider: str
    model: str
    temperature: str
    prompt: str
    response: str
    prompt_hash: str
    response_hash: str
    decision: str | None


class JobStep(Base):
    """One node of the plan, or the compensation of one.

    name: of a compensation `NODE#compensation`. what: the tool, the provider, or what is waited for. says: why it stands as it
    does. took: the nodes whose results it is given. key, invocation_id: "" where it has none. told: the event that holds the
    result. external_id: the effect's id in the other system. events: those that speak of it.
    repeated: whether it was called again while the outcome before was unknown, so that `once` is its tool's promise alone.
    """

    name: str
    node: str
    kind: Literal["tool", "elsewhere", "compensation", "llm", "human"]
    what: str
    standing: Standing
    says: str
    given: str
    depends_on: tuple[str, ...]
    took: tuple[str, ...]
    key: str
    invocation_id: str
    external_id: str | None
    result: str | None
    told: int | None
    input_hash: str
    output_hash: str | None
    attempts: tuple[Attempt, ...]
    repeated: bool
    notes: tuple[Note, ...]
    changes: tuple[str, ...]
    answer: ModelCall | None
    events: tuple[int, ...]


class Edge(Base):
    """An arrow of the dependency graph: a result that is given on, an approval that lets a step run, or mere order."""

    before: str
    after: str
    kind: Literal["result", "approval", "order"]


class Decision(Base):
    """The `decision_snapshot` of the plan: goal, what was known, why so, and the graph that came of it (S4 §3)."""

    event: int
    id: str
    goal: str
    memory: str
    reasoning: str
    graph: str


class LoggedEffect(Base):
    """One line of the effect log (E-EFFECTLOG), which `crashwindow effects` shows as well."""

    step_index: int
    command_id: str
    kind: str
    input_hash: str
    output_hash: str
    created_at: float
    version: int


class LedgerRow(Base):
    """An invocation record."""

    step: str
    tool: str
    status: str
    owner: str
    epoch: int
    key: str
    invocation_id: str
    args_hash: str
    result: str
    external_id: str | None
    confirmed_at: float | None


class EffectRow(Base):
    """An effect record: phase one of the two-phase record."""

    step: str
    kind: str
    key: str
    input: str
    output: str
    input_hash: str
    output_hash: str
    changes: tuple[str, ...]
    metadata: str


class Turn(Base):
    """The events that were written under one lease. owners: who held it, as far as the ledger names the last worker of a step."""

    epoch: int
    owners: tuple[str, ...]
    first: int
    last: int
    count: int
    first_at: float
    last_at: float


class ContractMove(Base):
    """One transition of a contract."""

    at: float
    before: str
    after: str
    trigger: str
    actor: str
    metadata: str


class JobContract(Base):
    """An execution contract around the job. relation: whose contract it is. action: what it lets run; digest: of that action.

    moves: the newest ones; `earlier` older ones lie in the store, and were checked with them.
    """

    execution_id: str
    relation: str
    status: str
    action: str
    digest: str
    consent: str | None
    result: str | None
    error: str | None
    moves: tuple[ContractMove, ...]
    earlier: int


class RelatedJob(Base):
    """Another job that undoes a step of this one, or whose step this one undoes. status: None where it is not in this store."""

    job_id: str
    relation: str
    status: str | None


class Way(Base):
    """What a person can do about the job: words, and the command that does it; "" where there is none."""

    words: str
    command: str
    note: str


class JobEvidence(Base):
    """Everything that the stores hold about one job, and what follows from it.

    store: its address, without a password. unread: what could not be understood of the records, and so is left out. rests_at:
    the node at which a job waits or is parked. ways: what can be done about that. ended: why it failed or was cancelled. read_at,
    program: when, and by which version of this program, it was read; nothing else differs between two readings of the same
    records.
    """

    schema_version: Literal[1]
    job_id: str
    store: str
    status: str
    version: int
    epoch: int
    created_at: float
    verdict: JobVerdict
    unread: tuple[str, ...]
    rests_at: str | None
    ways: tuple[Way, ...]
    ended: str | None
    events: tuple[JobEvent, ...]
    decision: Decision | None
    steps: tuple[JobStep, ...]
    edges: tuple[Edge, ...]
    effects: tuple[LoggedEffect, ...]
    ledger: tuple[LedgerRow, ...]
    records: tuple[EffectRow, ...]
    turns: tuple[Turn, ...]
    contracts: tuple[JobContract, ...]
    related: tuple[RelatedJob, ...]
    read_at: float
    program: str
