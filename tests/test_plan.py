"""Plans: what is valid is stored in one way, what is not is refused with file, node and remedy (T-ORDER J1)."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from crashwindow.runtime.canonical import digest
from crashwindow.runtime.plan import (
    Plan,
    PlanError,
    StoredPlan,
    load_plan,
    parse_plan,
    plan_hash,
    submission,
    validate_plan,
)
from crashwindow.runtime.registry import Registry
from crashwindow.runtime.tools import registry as shipped
from crashwindow.runtime.turn import tool_node

TOOLS = Registry()
TOOLS.tool(name="plain")(lambda args, context: None)
TOOLS.tool(name="repeatable", idempotent=True)(lambda args, context: None)


def node(name: str, *depends_on: str, **more: Any) -> dict[str, Any]:
    """A node of a plan's file."""
    return {"id": name, "tool": "plain", "depends_on": list(depends_on), **more}


def stored(*nodes: dict[str, Any]) -> StoredPlan:
    """A plan as it is stored."""
    return validate_plan(parse_plan({"version": 1, "nodes": list(nodes)}), TOOLS)


def written(tmp_path: Path, text: str, name: str = "plan.yaml") -> Path:
    """A plan's file."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path: Path) -> str:
    """What load_plan says; each line begins with the file."""
    with pytest.raises(PlanError) as caught:
        load_plan(path)
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"{path}: ") for line in lines)
    return "\n".join(line.removeprefix(f"{path}: ") for line in lines)


YAML = """
version: 1
nodes:
  - {id: b, tool: plain, depends_on: [a], args: {text: "é", list: [1, 2.5, null]}}
  - {id: a, tool: repeatable, on_unknown: reexecute, max_retries: 0}
"""


def test_json_and_yaml_are_the_same_plan(tmp_path: Path) -> None:
    """One plan, in either notation, is stored in one form: ordered, with what it leaves out left to the tool."""
    from_yaml = load_plan(written(tmp_path, YAML))
    data = {
        "version": 1,
        "nodes": [
            {"id": "b", "tool": "plain", "depends_on": ["a"], "args": {"text": "é", "list": [1, 2.5, None]}},
            {"id": "a", "tool": "repeatable", "on_unknown": "reexecute", "max_retries": 0},
        ],
    }
    from_json = load_plan(written(tmp_path, json.dumps(data), "plan.json"))
    assert from_json == from_yaml == parse_plan(data)
    assert validate_plan(from_yaml, TOOLS) == {
        "version": 1,
        "nodes": [
            {
                "id": "a",
                "tool": "repeatable",
                "args": {},
                "depends_on": [],
                "on_unknown": "reexecute",
                "max_retries": 0,
            },
            {"id": "b", "tool": "plain", "args": {"text": "é", "list": [1, 2.5, None]}, "depends_on": ["a"]},
        ],
    }


def test_a_stored_plan_is_what_the_protocol_reads() -> None:
    """The stored form runs as it stands: the protocol finds tools, arguments and the node's own choices in it."""
    plan = stored(node("a", args={"n": None}), node("b", "a", tool="repeatable", on_unknown="reexecute", max_retries=5))
    assert json.loads(json.dumps(plan)) == plan
    one, two = (tool_node(entry, TOOLS.tools, {}) for entry in plan["nodes"])
    assert (one.id, one.args, one.tool) == ("a", {"n": None}, TOOLS["plain"])
    assert (two.tool.on_unknown, two.tool.retry.max_retries) == ("reexecute", 5)


def test_free_nodes_run_in_the_order_of_the_file() -> None:
    """A node follows what it depends on; among free ones the first in the file is the first to run."""
    plan = stored(node("d", "b", "c"), node("z"), node("c"), node("b", "z"), node("a"))
    assert [entry["id"] for entry in plan["nodes"]] == ["z", "c", "b", "d", "a"]


@given(st.integers(1, 8), st.randoms(use_true_random=False))
def test_every_order_is_a_valid_one(size: int, chance: random.Random) -> None:
    """Whatever the graph: each node comes once, and after all that it depends on."""
    names = [f"n{number}" for number in range(size)]
    nodes = [
        node(name, *(other for other in names[:place] if chance.random() < 0.4)) for place, name in enumerate(names)
    ]
    chance.shuffle(nodes)
    done: set[str] = set()
    for entry in stored(*nodes)["nodes"]:
        assert done.issuperset(entry["depends_on"])
        done.add(entry["id"])
    assert done == set(names)


def test_equal_hashes_are_equal_plans() -> None:
    """The hash is of the canonical bytes; 1.0 is stored as 1, so that it stands for one plan only."""
    one, other = stored(node("a", args={"x": 1.0, "y": 2})), stored(node("a", args={"y": 2, "x": 1}))
    assert plan_hash(one) == plan_hash(other) == digest(one)
    assert repr(one["nodes"][0]["args"]["x"]) == "1"
    assert plan_hash(stored(node("a", args={"x": None}))) != plan_hash(stored(node("a", args={})))


def test_a_submission_is_named_by_its_plan() -> None:
    """J1: two events, whose ids repeat for the same plan and differ for another, whatever the job."""
    plan, other = stored(node("a")), stored(node("b"))
    created, generated = submission("job-1", plan)
    assert (created.type, created.step, created.data) == ("job_created", None, {"job_id": "job-1"})
    assert generated.data == {"plan": plan, "plan_hash": plan_hash(plan)}
    assert [event.id for event in (created, generated)] == [
        f"job_created:{plan_hash(plan)}",
        f"plan_generated:{plan_hash(plan)}",
    ]
    assert submission("job-1", plan) == [created, generated]
    assert {event.id for event in submission("job-1", other)}.isdisjoint({created.id, generated.id})


@pytest.mark.parametrize("job_id", ["", "a\0b", "x" * 201, "\ud800"])
def test_a_job_id_must_fit_into_a_key(job_id: str) -> None:
    """A job id that would be refused when its first key is made is refused before anything is stored."""
    with pytest.raises(PlanError, match="job id"):
        submission(job_id, stored(node("a")))


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([], "no nodes; it needs at least one"),
        ([node("a"), node("b"), node("a")], "node 'a': this id is used 2 times; give each node its own"),
        ([node("a", "x"), node("b")], "node 'a' depends on 'x', which is not a node; known: a, b"),
        ([node("a", "a")], "wait for each other: a → a; take one"),
        ([node("z"), node("a", "b"), node("b", "c"), node("c", "a", "z")], "a → b → c → a; take one"),
        ([node("")], "id: must have 1 to 200 characters and no NUL"),
        ([node("x" * 201)], "id: must have 1 to 200 characters"),
        ([node("a\0b")], "id: must have 1 to 200 characters and no NUL"),
        ([node("a", args={"x": [1, 2**53]})], r"node 'a': args\.x\[1\]: .*exceeds.*; write it as a string"),
        ([node("a", args=-(2**60))], "node 'a': args: .*exceeds"),
        ([node("a", args={"x": 1e20})], "node 'a': args.x: .*exceeds"),
        ([node("a", max_retries=-1)], "node 'a': max_retries: .*greater than or equal to 0"),
        ([node("a", max_retries=True)], "node 'a': max_retries: .*valid integer"),
        ([node("a", on_unknown="retry")], "node 'a': on_unknown: .*'park', 'query', 'reexecute' or 'fail'"),
        ([node("a", arguments={})], "node 'a': arguments: there is no such field; a plan looks like"),
        ([{"id": "a"}], "node 'a': tool: is missing; a plan looks like"),
        ([{"tool": "plain"}], "node number 1: id: is missing"),
        ([node("a", tool=3)], "node 'a': tool: .*valid string"),
        (
            [node("a"), node("b", args={"x": {"$result": "a"}})],
            "node 'b' uses the result of 'a', and does not depend on it",
        ),
        ([node("a", args={"$result": "z"})], "node 'a' uses the result of 'z', and does not depend on it"),
        ([node("a"), {"id": "ok", "approve": "a"}], "node 'a' is approved by 'ok', and does not depend on it"),
        ([{"id": "ok", "approve": "z"}], "node 'ok' approves 'z', which is not a tool node"),
        (
            [node("z"), {"id": "ok", "approve": "a"}, node("a", "ok", "z", args={"x": {"$result": "z"}})],
            "node 'ok' approves an action that uses the result of 'z'; add it to depends_on",
        ),
        ([{"id": "ok", "approve": "g"}, {"id": "g", "wait": "go"}], "approves 'g', which is not a tool node"),
        ([{"id": "q", "llm": "m", "prompt": "hello"}], "node 'q': model: is missing"),
        ([{"id": "g", "wait": "go", "tool": "plain"}], "node 'g': wait: there is no such field"),
        (["a"], "node number 1: .*valid dictionary or instance"),
        ([node("a"), node("b", args={"x": "\ud800"})], "node 'b': args.x: "),
    ],
)
def test_a_bad_graph_or_node_is_named(nodes: list[Any], words: str, tmp_path: Path) -> None:
    """A problem in a node is said with the node's id, the field and the remedy."""
    said = refusal(written(tmp_path, json.dumps({"version": 1, "nodes": nodes}), "plan.json"))
    assert re.search(words, said), said


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "must be an object like {"),
        (None, "must be an object like {"),
        ({"nodes": [node("a")]}, "version: is missing"),
        ({"version": 2, "nodes": [node("a")]}, 'write "version": 1'),
        ({"version": "1", "nodes": [node("a")]}, "version: Input should be a valid integer"),
        ({"version": True, "nodes": [node("a")]}, "version: Input should be a valid integer"),
        ({"version": 1}, "nodes: is missing"),
        ({"version": 1, "nodes": {}}, "nodes: Input should be a valid list"),
        ({"version": 1, "nodes": [node("a")], "name": "x"}, "name: there is no such field"),
    ],
)
def test_a_bad_frame_is_named(data: Any, words: str, tmp_path: Path) -> None:
    """A problem outside the nodes is said with its field."""
    assert words in refusal(written(tmp_path, json.dumps(data), "plan.json"))


def test_all_problems_are_said_at_once(tmp_path: Path) -> None:
    """Two bad nodes are two lines, each with the file."""
    said = refusal(written(tmp_path, json.dumps({"version": 1, "nodes": [node(""), node("b", tool=1)]}), "plan.json"))
    assert len(said.splitlines()) == 2


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("plan.json", '{"version": 1,\n "nodes": [,]}', "line 2: not valid JSON"),
        ("plan.json", "", "line 1: not valid JSON"),
        ("plan.json", '{"version": 1, "nodes": [{"id": "a", "id": "b", "tool": "t"}]}', "the key 'id' stands twice"),
        ("plan.json", '{"version": 1, "nodes": [{"id": "a", "tool": "t", "args": {"x": NaN}}]}', "node 'a': args.x: "),
        (
            "plan.json",
            '{"version": 1, "nodes": [{"id": "a", "tool": "t", "args": [-Infinity]}]}',
            "node 'a': args[0]: ",
        ),
        ("plan.json", "[" * 100_000, "nested too deeply"),
        ("plan.json", '{"version": ' + "9" * 5000 + "}", "Exceeds the limit"),
        ("plan.yaml", "version: 1\nnodes: [\n", "line 3: not valid YAML"),
        ("plan.yaml", "version: 1\nversion: 1\n", "line 2: not valid YAML: the key 'version' stands twice"),
        ("plan.yaml", "a: 1\n---\nb: 2\n", "line 2: not valid YAML: but found another document"),
        ("plan.yaml", "a: !!python/object:os.system {}\n", "line 1: not valid YAML: could not determine a constructor"),
        ("plan.yaml", "a: 2024-13-01\n", "not valid YAML: ValueError: month must be in 1..12"),
        ("plan.yaml", "a: !!bool x\n", "not valid YAML: KeyError"),
        ("plan.yaml", "a: \x07\n", "not valid YAML"),
        ("plan.yaml", "", "must be an object like {"),
        ("plan.txt", "{}", "a plan is a .json, .yaml or .yml file; rename it"),
    ],
)
def test_a_file_that_is_not_a_plan_is_refused(name: str, text: str, words: str, tmp_path: Path) -> None:
    """A syntax error is said with its line; what the parsers let pass, as NaN and repeated keys, is refused, too."""
    assert words in refusal(written(tmp_path, text, name))


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (".nan", "args.x"),
        (".inf", "args.x"),
        ("!!binary aGVsbG8=", "args.x"),
        ("2024-02-01", "args.x"),
        ("2024-02-01T10:00:00Z", "args.x"),
        ("{1: one}", "args.x: the key 1 is not a string; put it in quotes"),
        ("{yes: one}", "args.x: the key True is not a string; put it in quotes"),
        ("{ok: [1, {deep: 9007199254740992}]}", "args.x.ok[1].deep"),
        ("!!set {a, b}", "args.x"),
        ("&self [*self]", "args: nested too deeply"),
    ],
)
def test_yaml_values_that_are_not_json_are_refused(value: str, place: str, tmp_path: Path) -> None:
    """What YAML can say and canonical JSON cannot is named with its place in the arguments."""
    text = f"version: 1\nnodes:\n  - id: step one\n    tool: plain\n    args:\n      x: {value}\n"
    said = refusal(written(tmp_path, text))
    assert said.startswith(f"node 'step one': {place}"), said


def test_yaml_anchors_and_merges_are_read(tmp_path: Path) -> None:
    """A merged key that is overridden is not a repeated one."""
    text = """
version: 1
nodes:
  - &first {id: a, tool: plain, args: {n: 1}}
  - {<<: *first, id: b, depends_on: [a]}
"""
    plan = validate_plan(load_plan(written(tmp_path, text, "plan.yml")), TOOLS)
    assert [(entry["id"], entry["args"]) for entry in plan["nodes"]] == [("a", {"n": 1}), ("b", {"n": 1})]


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    """A missing file, a folder and a file that is not text are refused with the reason."""
    assert "No such file" in refusal(tmp_path / "none.json")
    (tmp_path / "folder.json").mkdir()
    assert "directory" in refusal(tmp_path / "folder.json")
    (tmp_path / "latin.json").write_bytes(b'{"\xe9": 1}')
    assert "save it as UTF-8" in refusal(tmp_path / "latin.json")


def test_the_registry_has_its_say() -> None:
    """An unknown tool, and a choice that a tool's contract does not allow, are refused with the node and the remedy."""
    plan = parse_plan({"version": 1, "nodes": [node("a", tool="file.apend")]})
    with pytest.raises(
        PlanError, match=r"^p\.yaml: node 'a': tool 'file\.apend'.*Did you mean 'file\.append'.*--tools"
    ):
        validate_plan(plan, shipped, "p.yaml")
    with pytest.raises(PlanError, match=r"node 'b'.*needs idempotent=True"):
        stored(node("a"), node("b", on_unknown="reexecute"))
    with pytest.raises(PlanError, match=r"node 'a'.*needs a query function; use 'park'"):
        stored(node("a", on_unknown="query"))


def test_a_plan_cannot_be_made_wrong_in_code_either() -> None:
    """The checks belong to the plan, not to the file: a Plan that exists is a valid graph, and it is frozen."""
    with pytest.raises(ValidationError, match="no nodes"):
        Plan(version=1, nodes=[])
    plan = parse_plan({"version": 1, "nodes": [node("a")]})
    with pytest.raises(ValidationError, match="frozen"):
        plan.version = 2
