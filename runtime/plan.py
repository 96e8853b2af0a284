"""Plans: read, validated and turned into the events of a submission (T-ORDER J1).

Here, and nowhere else in the runtime, graphs and schemas are checked: what is stored is plain JSON in the order of
execution, and a worker runs it as it stands.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from .canonical import NotCanonicalError, canonical, check_kept, digest
from .fill import references
from .history import snapshot_of
from .records import Json, NewEvent
from .registry import Registry, UnknownToolError
from .retry import LONGEST, RetryPolicy
from .tool import OnUnknown

if TYPE_CHECKING:
    import networkx as nx

StoredPlan = dict[str, Json]
"""{"version": 1, "decision"?, "nodes": […]}: plain JSON, the nodes as they run. What kind a node is its keys say."""

VERSION: Final = 1
FORM: Final = '{"version": 1, "nodes": [{"id": …, "tool": …, "args": {…}, "depends_on": […]}, …]}'
KINDS: Final = ("tool", "llm", "wait", "approve")
"""The keys that say what a node is: it calls a tool, asks a model, waits for a signal, or has another node approved."""
MAX_NAME: Final = 200


class PlanError(ValueError):
    """A plan that cannot be run: names the file, the node and the remedy."""


def _name(value: str) -> str:
    """An id: it becomes part of the idempotency key, whose parts NUL separates (T-KEY)."""
    if not value or len(value) > MAX_NAME or "\0" in value:
        raise ValueError(f"must have 1 to {MAX_NAME} characters and no NUL")
    canonical(value)
    return value


def _version(value: int) -> int:
    if value != VERSION:
        raise ValueError(f'this release reads plans of version {VERSION}; write "version": {VERSION}')
    return value


def _pattern(value: str) -> str:
    """A regular expression, one of which an error has to match that is retried (T-RETRY)."""
    RetryPolicy(retryable_errors=(value,))
    canonical(value)
    return value


Name = Annotated[str, AfterValidator(_name)]


def _canonical_field(value: Json, info: ValidationInfo) -> Json:
    if problem := _not_canonical(value, info.field_name or "value"):
        raise ValueError(problem)
    return value


Canonical = Annotated[Any, AfterValidator(_canonical_field)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]
Pattern = Annotated[str, AfterValidator(_pattern)]
STRICT: Final = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Node(BaseModel):
    """What every node has: an id, and the nodes that it comes after."""

    model_config = STRICT

    id: Name
    depends_on: list[Name] = []

    @property
    def inputs(self) -> Json:
        """What may ask for the results of other nodes."""
        return None

    @property
    def stored(self) -> dict[str, Json]:
        """The node as it is stored. What the plan leaves open is left out; a null among the arguments stays."""
        given = self.model_dump(mode="json")
        inputs = {"args", "prompt", "depends_on"}
        return {name: value for name, value in given.items() if value is not None or name in inputs}


class ToolNode(_Node):
    """A step: which tool, with which arguments, after which other steps. None means: as the tool declares."""

    tool: Name
    args: Canonical = Field(default_factory=dict)
    on_unknown: OnUnknown | None = None
    max_retries: Count | None = None
    backoff_seconds: Annotated[float, Field(ge=0, le=LONGEST)] | None = None
    max_requeues: Count | None = None
    retryable_errors: list[Pattern] | None = None

    @property
    def inputs(self) -> Json:
        """The arguments."""
        return self.args


class LlmNode(_Node):
    """A question to a model: whom to ask, what, and with which temperature."""

    llm: Name
    prompt: Canonical
    model: Name
    temperature: Annotated[float, Field(ge=0)] | None = None
    max_retries: Count | None = None
    backoff_seconds: Annotated[float, Field(ge=0, le=LONGEST)] | None = None
    max_requeues: Count | None = None
    retryable_errors: list[Pattern] | None = None

    @property
    def inputs(self) -> Json:
        """The prompt."""
        return self.prompt


class WaitNode(_Node):
    """A wait for a signal of this name; its data is the node's result."""

    wait: Name


class ApprovalNode(_Node):
    """A wait for a person, who approves what the tool node of this id is about to do; or denies it, for good."""

    approve: Name


PlanNode = Annotated[
    Annotated[ToolNode, Tag("tool")]
    | Annotated[LlmNode, Tag("llm")]
    | Annotated[WaitNode, Tag("wait")]
    | Annotated[ApprovalNode, Tag("approve")],
    Discriminator(lambda node: next((kind for kind in KINDS if kind in node), "tool")),
]


class Decision(BaseModel):
    """Why there is this plan: the goal, and summaries of what was remembered and reasoned (S4 §3)."""

    model_config = STRICT

    goal: Canonical
    memory: Canonical = None
    reasoning: Canonical = None


class Plan(BaseModel):
    """A graph of steps: every dependency is a step of the plan, and there is no cycle."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    version: Annotated[int, AfterValidator(_version)]
    nodes: list[PlanNode]
    decision: Decision | None = None

    @model_validator(mode="after")
    def _is_a_graph(self) -> "Plan":
        if not self.nodes:
            raise ValueError("the plan has no nodes; it needs at least one")
        ids = Counter(node.id for node in self.nodes)
        for name, times in ids.items():
            if times > 1:
                raise ValueError(f"node {name!r}: this id is used {times} times; give each node its own")
        for node in self.nodes:
            for name in node.depends_on:
                if name not in ids:
                    raise ValueError(
                        f"node {node.id!r} depends on {name!r}, which is not a node; known: {', '.join(ids)}"
                    )
        if cycle := _cycle(self):
            raise ValueError(f"the nodes wait for each other: {cycle}; take one of these depends_on away")
        for problem in (*_unknown_results(self), *_wrong_approvals(self)):
            raise ValueError(problem)
        return self


def load_plan(path: str | Path) -> Plan:
    """Read a plan from a .json, .yaml or .yml file; raises PlanError."""
    path = Path(path)
    parsers: dict[str, Callable[[str], Json]] = {".json": _parse_json, ".yaml": _parse_yaml, ".yml": _parse_yaml}
    if path.suffix not in parsers:
        raise PlanError(f"{path}: a plan is a .json, .yaml or .yml file; rename it")
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise PlanError(
            f"{path}: cannot be read: {error.strerror or error}; check the name and the permissions"
        ) from error
    except UnicodeDecodeError as error:
        raise PlanError(f"{path}: is not UTF-8 text ({error}); save it as UTF-8") from error
    try:
        data = parsers[path.suffix](text)
    except RecursionError as error:
        raise PlanError(f"{path}: nested too deeply; make it flatter") from error
    except ValueError as error:
        raise PlanError(f"{path}: {error}") from error
    return parse_plan(data, str(path))


def parse_plan(data: Json, source: str = "the plan") -> Plan:
    """A plan from the value of its file; `source` names it in messages. Raises PlanError, a line for each problem."""
    try:
        return Plan.model_validate(data)
    except ValidationError as error:
        problems = [_problem(data, each["loc"], each["type"], each["msg"]) for each in error.errors()]
        raise PlanError("\n".join(f"{source}: {problem}" for problem in problems)) from error


def validate_plan(plan: Plan, registry: Registry, source: str = "the plan") -> StoredPlan:
    """The plan as it is stored: plain JSON, the nodes in the order in which they run.

    A node follows all that it depends on; among those that are free to run, the one that stands first in the file comes
    first. Raises PlanError when a tool is not registered, or does not allow a node's `on_unknown`.
    """
    for node in plan.nodes:
        if isinstance(node, LlmNode) and node.llm not in registry.providers:
            known = ", ".join(registry.providers) or "none"
            raise PlanError(f"{source}: node {node.id!r}: provider {node.llm!r} is not registered; known: {known}")
        if not isinstance(node, ToolNode):
            continue
        try:
            tool = registry[node.tool]
            tool.check_compensation()
            if node.on_unknown is not None:
                tool.check(node.on_unknown)
        except (UnknownToolError, ValueError) as error:
            raise PlanError(f"{source}: node {node.id!r}: {error}") from error
    import networkx as nx

    place = {node.id: number for number, node in enumerate(plan.nodes)}
    order = nx.lexicographical_topological_sort(_graph(plan), key=place.__getitem__)
    nodes = [plan.nodes[place[name]].stored for name in order]
    decision = {"decision": plan.decision.model_dump(mode="json")} if plan.decision else {}
    # One form for each value (1.0 is 1), so that plans of one hash are one plan.
    stored: StoredPlan = json.loads(canonical({"version": plan.version, "nodes": nodes, **decision}))
    return stored


def plan_hash(stored: StoredPlan) -> str:
    """SHA-256 of the canonical bytes of a stored plan, in hexadecimal."""
    return digest(stored)


def submission(job_id: str, stored: StoredPlan) -> list[NewEvent]:
    """The one batch of J1: `job_created`, `plan_generated`, and `decision_snapshot` where the plan says why it is made.

    The ids of the events are made from the plan, so a repeated submission of the same plan under the same job id is
    recognised as the first, and one of another plan is not. Raises PlanError for a job id that cannot be part of a key.
    """
    try:
        _name(job_id)
    except ValueError as error:
        raise PlanError(f"job id {job_id!r}: {error}") from error
    identity = plan_hash(stored)
    batch = [
        NewEvent(f"job_created:{identity}", "job_created", None, {"job_id": job_id}),
        NewEvent(f"plan_generated:{identity}", "plan_generated", None, {"plan": stored, "plan_hash": identity}),
    ]
    if "decision" in stored:
        batch.append(NewEvent(f"decision_snapshot:{identity}", "decision_snapshot", None, snapshot_of(stored)))
    return batch


# The graph. networkx is imported late: a program that only reads stored plans is there in two thirds of the time.


def _graph(plan: Plan) -> "nx.DiGraph[str]":
    """An edge leads from a node to each that waits for it."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(node.id for node in plan.nodes)
    graph.add_edges_from((name, node.id) for node in plan.nodes for name in node.depends_on)
    return graph


def _before(graph: "nx.DiGraph[Any]", name: str) -> set[str]:
    """The nodes that come before one, whatever lies between."""
    import networkx as nx

    return set(nx.ancestors(graph, name))


def _cycle(plan: Plan) -> str | None:
    """A cycle as "a → b → a", each the dependent of the next; None when there is none."""
    import networkx as nx

    try:
        edges = nx.find_cycle(_graph(plan).reverse())
    except nx.NetworkXNoCycle:
        return None
    return " → ".join([*(edge[0] for edge in edges), edges[0][0]])


def _unknown_results(plan: Plan) -> Iterator[str]:
    """Results that are asked for and are not there yet, since nothing says that the other node comes first."""
    graph = _graph(plan)
    for node in plan.nodes:
        for name in references(node.inputs):
            if name not in graph or name not in _before(graph, node.id):
                yield f"node {node.id!r} uses the result of {name!r}, and does not depend on it; add it to depends_on"


def _wrong_approvals(plan: Plan) -> Iterator[str]:
    """Approvals of what is no step, or of a step that does not wait for its approval."""
    nodes, graph = {node.id: node for node in plan.nodes}, _graph(plan)
    gates: dict[str, str] = {}
    for node in plan.nodes:
        if not isinstance(node, ApprovalNode):
            continue
        gated = nodes.get(node.approve)
        if not isinstance(gated, ToolNode):
            yield f"node {node.id!r} approves {node.approve!r}, which is not a tool node of the plan"
        elif node.id not in gated.depends_on:
            yield f"node {node.approve!r} is approved by {node.id!r}, and does not depend on it; add it to depends_on"
        elif other := gates.get(node.approve):
            yield f"node {node.approve!r} is approved by {other!r} and by {node.id!r}; one of them is enough"
        elif unknown := set(references(gated.inputs)) - _before(graph, node.id):
            yield f"node {node.id!r} approves an action that uses the result of {min(unknown)!r}; add it to depends_on"
        gates[node.approve] = node.id


# Messages.


def _problem(data: Json, location: tuple[int | str, ...], kind: str, message: str) -> str:
    """One problem of the schema, said with the node's id where it has one."""
    message = message.removeprefix("Value error, ")
    match location:
        case ():
            return message if kind == "value_error" else f"must be an object like {FORM}"
        case ("nodes", int(number), _, *rest):  # the third part is the node's kind
            node = data["nodes"][number]
            name = node.get("id") if isinstance(node, dict) else None
            where = f"node {name!r}" if isinstance(name, str) else f"node number {number + 1}"
            # A problem inside the arguments comes with its full path.
            inside = kind == "value_error" and rest == ["args"]
            within = "" if inside else ".".join(map(str, rest))
        case rest:
            where, within = ".".join(map(str, rest)), ""
    if kind == "extra_forbidden":
        message = f"there is no such field; a plan looks like {FORM}"
    elif kind == "missing":
        message = f"is missing; a plan looks like {FORM}"
    return ": ".join(filter(None, [where, within, message]))


def _not_canonical(value: Json, where: str) -> str | None:
    """What in a value has no canonical JSON form (RFC 8785), and where; None when all of it has.

    A number must also survive being written and read again: 1e20 comes back as an integer that is too large.
    """
    try:
        check_kept(value)
        return None
    except NotCanonicalError as error:
        if isinstance(error.__cause__, RecursionError):
            return f"{where}: nested too deeply; make it flatter"
        reason = str(error)
    inner: list[tuple[str, Json]] = []
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                return f"{where}: the key {key!r} is not a string; put it in quotes"
        inner = [(f"{where}.{key}", item) for key, item in value.items()]
    elif isinstance(value, list):
        inner = [(f"{where}[{number}]", item) for number, item in enumerate(value)]
    found = next(filter(None, (_not_canonical(item, place) for place, item in inner)), None)
    return found or f"{where}: {reason}; write it as a string"


# Files.


def _parse_json(text: str) -> Json:
    """A JSON text without repeated keys; raises ValueError with the line."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: not valid JSON: {error.msg}") from error


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """An object; the second of two equal keys would silently win."""
    found: dict[str, Json] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} stands twice in one object; remove one")
        found[key] = value
    return found


class _Loader(yaml.SafeLoader):
    """Plain YAML without repeated keys."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """A mapping; the second of two equal keys would silently win."""
        mapping = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in mapping.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    problem = f"the key {key.value!r} stands twice in one mapping; remove one"
                    raise yaml.composer.ComposerError(problem=problem, problem_mark=key.start_mark)
                seen.add(key.value)
        return mapping


def _parse_yaml(text: str) -> Json:
    """A YAML text; raises ValueError with the line."""
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise ValueError(f"{line}not valid YAML: {error.problem or error.context}") from error
    except (
        Exception
    ) as error:  # the constructors of PyYAML let theirs through: ValueError for a 13th month, KeyError, …
        raise ValueError(f"not valid YAML: {type(error).__name__}: {' '.join(str(error).split())}") from error
