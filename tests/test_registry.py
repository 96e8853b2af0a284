"""The registry: a wrong declaration is refused where it is made, and a user's tools are found or said to be missing."""

import asyncio
import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from crashwindow.runtime.records import Json
from crashwindow.runtime.registry import (
    DuplicateToolError,
    DuplicateVerifierError,
    Registry,
    ToolSourceError,
    UnknownToolError,
    load_tools,
)
from crashwindow.runtime.retry import RetryPolicy
from crashwindow.runtime.tool import Absent, ToolContext
from crashwindow.runtime.tools import registry as shipped
from crashwindow.runtime.verifier import Confirmation, Match, StateChange, VerifyContext

CONTEXT = ToolContext("job", "step", "0" * 64, "crashwindow:0", "inv-0", 1, 1)

ONE_TOOL = """
from crashwindow.runtime.registry import Registry
{name} = Registry()
@{name}.tool(name="{tool}")
def call(args, context):
    "Says what it was told."
    return args
"""


def echo(args: Json, context: ToolContext) -> Json:
    """Says what it was told."""
    return args


def nothing(args: Json, context: ToolContext) -> Absent:
    """Never finds anything."""
    return Absent()


def with_tool(name: str) -> Registry:
    """A registry with one tool."""
    registry = Registry()
    registry.tool(name=name)(echo)
    return registry


def test_the_decorator_registers_a_contract() -> None:
    """The decorator keeps the function as it is, and the contract and the docstring as they are declared."""
    registry = Registry()
    decorate = registry.tool(
        name="my.echo",
        idempotent=True,
        on_unknown="query",
        query=nothing,
        look="quiet",
        quiet_seconds=3,
        retry=RetryPolicy(max_retries=7),
    )
    assert decorate(echo) is echo
    tool = registry["my.echo"]
    assert (tool.call, tool.description, tool.idempotent) == (echo, "Says what it was told.", True)
    assert (tool.on_unknown, tool.query, tool.look) == ("query", nothing, "quiet")
    assert (tool.quiet_seconds, tool.retry.max_retries, tool.irreversible) == (3, 7, None)


def test_async_functions_are_tools() -> None:
    """An async function is registered as it is, and its call can be awaited."""
    registry = Registry()

    @registry.tool(name="my.async")
    async def call(args: Json, context: ToolContext) -> Json:
        await asyncio.sleep(0)
        return {"attempt": context.attempt, **args}

    answer: Any = registry["my.async"].call({"a": 1}, CONTEXT)
    assert inspect.isawaitable(answer)

    async def awaited() -> Json:
        return await answer

    assert asyncio.run(awaited()) == {"attempt": 1, "a": 1}


def test_one_name_is_one_tool() -> None:
    """A second tool of the same name is refused, and the first one stays."""
    registry = with_tool("my.echo")
    with pytest.raises(DuplicateToolError, match=r"'my\.echo' is registered twice.*another name"):
        registry.tool(name="my.echo")(lambda args, context: None)
    assert registry["my.echo"].call is echo


def test_an_unknown_tool_is_named_with_the_remedy() -> None:
    """The error names what was asked for, the closest name, all names and the option that loads more."""
    with pytest.raises(UnknownToolError) as caught:
        shipped["file.apend"]
    said = str(caught.value)
    for words in (
        "'file.apend'",
        "Did you mean 'file.append'?",
        "file.append, http.post, sqlite.insert",
        "--tools FILE",
    ):
        assert words in said
    with pytest.raises(UnknownToolError, match="Known: none"):
        Registry()["x"]


@pytest.mark.parametrize(
    ("contract", "words"),
    [
        ({"name": ""}, "name must not be empty"),
        ({"name": "a\0b"}, "NUL"),
        ({"on_unknown": "retry"}, "on_unknown='retry' is not one of park, query, reexecute, fail"),
        ({"on_unknown": "reexecute"}, "needs idempotent=True"),
        ({"on_unknown": "query"}, "needs a query function"),
        ({"query": nothing}, "go together"),
        ({"look": "fence"}, "go together"),
        ({"query": nothing, "look": "later"}, "look='later' is not one of none, quiet, fence"),
        ({"query": lambda args: Absent(), "look": "quiet"}, r"its query must take \(args, context\)"),
        ({"quiet_seconds": -1}, "must be ≥ 0"),
    ],
)
def test_a_contract_that_cannot_hold_is_refused(contract: dict[str, Any], words: str) -> None:
    """A contradiction shows when the tool is registered, not when a step of a job is ambiguous."""
    with pytest.raises(ValueError, match=words):
        Registry().tool(**{"name": "my.echo", **contract})(echo)


def test_a_function_of_another_shape_is_refused() -> None:
    """A tool that cannot be called with (args, context), or a query that must be awaited, is refused at once."""
    with pytest.raises(ValueError, match=r"its call must take \(args, context\)"):
        Registry().tool(name="my.echo")(lambda: None)  # type: ignore[type-var]

    async def ask(args: Json, context: ToolContext) -> Absent:
        return Absent()

    with pytest.raises(ValueError, match="plain function"):
        Registry().tool(name="my.echo", query=ask, look="quiet")(echo)  # type: ignore[arg-type]


def test_registries_merge() -> None:
    """A merged registry has the tools of both, which stay as they are; a tool in both is one, two of a name clash."""
    mine = with_tool("my.echo")
    both = shipped.merged(mine)
    assert list(both.tools) == ["email.send", "file.append", "http.post", "my.echo", "sqlite.insert"]
    assert (len(shipped), len(mine), "my.echo" in shipped) == (4, 1, False)
    assert list(both.merged(shipped)) == list(both)
    with pytest.raises(DuplicateToolError, match=r"file\.append"):
        shipped.merged(with_tool("file.append"))


class Verifier:
    """Always says yes."""

    def verify(self, change: StateChange, context: VerifyContext) -> Match:
        """Match."""
        return Match()


def test_verifiers_are_declared_and_merge() -> None:
    """A registry has the verifiers and the mode that were declared; a merged one those of both, a verifier in both once."""
    assert (shipped.confirmation, shipped.confirmation_mode) == (Confirmation(), "strict")
    mine, yours, verifier, other = Registry(), Registry(), Verifier(), Verifier()
    mine.verify("file", verifier)
    mine.confirmation_mode = "warn"
    yours.verify("file", verifier)
    yours.verify("row", other)
    for both in (mine.merged(yours), yours.merged(mine)):
        assert both.confirmation == Confirmation({"file": verifier, "row": other}, mode="warn")
    assert shipped.merged(mine).confirmation == mine.confirmation == Confirmation({"file": verifier}, mode="warn")


def test_one_type_has_one_verifier_and_a_registry_one_mode() -> None:
    """Two verifiers of a type, or two modes, are refused wherever they meet, and the first stays."""
    mine, yours, first = Registry(), Registry(), Verifier()
    mine.verify("file", first)
    with pytest.raises(DuplicateVerifierError, match="'file' has two verifiers"):
        mine.verify("file", Verifier())
    assert mine.confirmation.verifiers == {"file": first}
    yours.verify("file", Verifier())
    with pytest.raises(DuplicateVerifierError, match="'file' has two verifiers"):
        mine.merged(yours)
    yours = Registry()
    mine.confirmation_mode, yours.confirmation_mode = "strict", "warn"
    with pytest.raises(ValueError, match="two confirmation modes are set, 'strict' and 'warn'"):
        mine.merged(yours)
    with pytest.raises(ValueError, match="mode 'lax' is not one of strict, warn, human_in_loop"):
        mine.confirmation_mode = "lax"  # type: ignore[assignment]
    assert mine.confirmation_mode == "strict"


@pytest.mark.parametrize(
    ("resource_type", "verifier", "words"),
    [
        ("", Verifier(), "resource type is a string"),
        (7, Verifier(), "resource type is a string"),
        ("file", object(), r"no method verify\(change, context\)"),
        ("file", Verifier, "must be an object, not a class"),
        ("file", SimpleNamespace(verify=lambda change: Match()), r"with verify\(change, context\)"),
    ],
)
def test_a_verifier_that_cannot_be_asked_is_refused(resource_type: Any, verifier: Any, words: str) -> None:
    """A wrong declaration shows when the verifier is registered, not when a record is to be confirmed."""
    with pytest.raises(ValueError, match=words):
        Registry().verify(resource_type, verifier)


def test_an_async_verifier_is_refused() -> None:
    """Its coroutine would be no answer."""

    class Later:
        async def verify(self, change: StateChange, context: VerifyContext) -> Match:
            return Match()

    with pytest.raises(ValueError, match="plain function"):
        Registry().verify("file", Later())  # type: ignore[arg-type]


def test_every_shipped_tool_declares_its_whole_contract() -> None:
    """What ships says of itself whether it is irreversible, and in words what it takes and what it assumes."""
    for tool in shipped:
        assert tool.irreversible is not None
        for words in ("Arguments:", "dempotent", "eversible", "Asked afterwards" if tool.query else "cannot be asked"):
            assert words in tool.description, (tool.name, words)


@pytest.mark.parametrize("name", ["registry", "anything"])
def test_tools_are_loaded_from_a_file(name: str, tmp_path: Path) -> None:
    """The one registry of a file is found, whatever it is called."""
    (tmp_path / "mine.py").write_text(ONE_TOOL.format(name=name, tool="my.echo"))
    registry = load_tools(str(tmp_path / "mine.py"))
    assert registry["my.echo"].call({"a": 1}, CONTEXT) == {"a": 1}


def test_of_several_registries_the_one_called_registry_is_meant(tmp_path: Path) -> None:
    """A file may import the shipped tools and still say which registry is its own; one that does not say is refused."""
    file = tmp_path / "mine.py"
    file.write_text(
        "from crashwindow.runtime.tools import registry as shipped\n" + ONE_TOOL.format(name="registry", tool="x")
    )
    assert list(load_tools(str(file)).tools) == ["x"]
    file.write_text(ONE_TOOL.format(name="one", tool="x") + ONE_TOOL.format(name="two", tool="y"))
    with pytest.raises(ToolSourceError, match=r"several registries \(one, two\).*`registry = Registry\(\)`"):
        load_tools(str(file))


def test_tools_are_loaded_by_module_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dotted name is looked for where Python looks, and in the working directory."""
    (tmp_path / "shop_tools").mkdir()
    (tmp_path / "shop_tools/__init__.py").write_text("")
    (tmp_path / "shop_tools/mine.py").write_text(ONE_TOOL.format(name="registry", tool="shop.echo"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    assert list(load_tools("shop_tools.mine").tools) == ["shop.echo"]
    assert list(load_tools("crashwindow.runtime.tools").tools) == list(shipped.tools)


def test_a_file_may_import_its_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of a tools file becomes importable, behind everything else: a `json.py` there replaces nothing."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "neighbour_of_mine.py").write_text("NAME = 'from.neighbour'")
    (tmp_path / "colorsys.py").write_text("raise RuntimeError('not this one')")
    (tmp_path / "mine.py").write_text(
        "import colorsys\nfrom neighbour_of_mine import NAME\nfrom crashwindow.runtime.registry import Registry\n"
        "registry = Registry()\nregistry.tool(name=NAME)(lambda args, context: None)\n"
    )
    assert list(load_tools(str(tmp_path / "mine.py")).tools) == ["from.neighbour"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no such file"),
        ("x = 1", r"holds no Registry; write `registry = Registry\(\)`"),
        ("import no_such_module_at_all", "ModuleNotFoundError.*no_such_module_at_all"),
        ("def broken(:", r"SyntaxError.*mine\.py, line 1"),
        ("raise SystemExit(3)", "SystemExit"),
        (ONE_TOOL.format(name="r", tool="x") + "\n@r.tool(name='x')\ndef f(a, c): ...", "registered twice"),
    ],
)
def test_a_bad_source_is_named_with_the_reason(text: str | None, words: str, tmp_path: Path) -> None:
    """A missing file, a file without a registry and one that does not import: the file, the reason, the remedy."""
    file = tmp_path / "mine.py"
    if text is not None:
        file.write_text(text)
    before = len(sys.modules)
    with pytest.raises(ToolSourceError, match=words) as caught:
        load_tools(str(file))
    assert str(file) in str(caught.value)
    assert len(sys.modules) == before + (text == "x = 1")  # a half-imported module is not kept


def test_a_module_that_is_not_there_is_named() -> None:
    """An unknown dotted name is an error of the source, not a traceback."""
    with pytest.raises(ToolSourceError, match=r"'no\.such\.module' cannot be imported"):
        load_tools("no.such.module")


def test_the_way_to_the_tools_is_light(tmp_path: Path) -> None:
    """A worker that runs a stored plan with the shipped tools loads no validator, no graphs and no HTTP client."""
    heavy = "{'pydantic', 'networkx', 'httpx', 'yaml'}"
    modules = "crashwindow.runtime.tools, crashwindow.runtime.protocol"
    code = f"import sys, {modules}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
