"""The floor plan holds: imports go one way, and each outside library stays in the files that may speak to it."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from crashwindow.tests.conftest import LONGEST

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "crashwindow"


class Room(NamedTuple):
    """Files, the own modules they may import (a name covers what lies below it), and why."""

    files: str
    may: tuple[str, ...]
    why: str


class Library(NamedTuple):
    """An outside module, the distribution it comes from ("": Python itself), the files that may import it, and why."""

    module: str
    distribution: str
    files: tuple[str, ...]
    why: str


EVIDENCE = tuple(
    f"checkers.evidence{part}"
    for part in ("", "_agreement", "_base", "_graph", "_job", "_matrix", "_outcome", "_verdict")
)
"""What checkers hand on, and nothing of how they came to it."""
# In file patterns '*' spans folders: 'runtime/tools*' is runtime/tools.py and all of runtime/tools/.
# The first row that matches a file holds.
ROOMS = (
    Room("model/*", ("model",), "what is true depends on nothing"),
    Room(
        "runtime/*",
        ("runtime", "model.boundaries", "model.contract", "model.policy"),
        "it reads what is legal, never what is expected",
    ),
    Room("scenarios/*", ("scenarios", "model"), "what is tried is data about the model"),
    Room(
        "checkers/evidence*",
        (*EVIDENCE, "model"),
        "reports read it and must not meet a checker through it",
    ),
    Room(
        "checkers/campaign/pytest_plugin.py",
        ("checkers", "reports"),
        "under pytest it is what the command line is elsewhere: it runs, and shows",
    ),
    Room("checkers/*", ("checkers", "runtime", "scenarios", "model"), "they compare the model with the real thing"),
    Room(
        "reports/audit/*",
        ("reports", *EVIDENCE, "checkers.evidence_code", "model", "scenarios"),
        "an audit needs the machines by name, which are data, and must not meet a checker",
    ),
    Room(
        "reports/*",
        ("reports", *EVIDENCE, "model"),
        "old evidence can be rendered without the run",
    ),
    Room(
        "bench/*",
        ("bench", "checkers", "runtime", "scenarios", "model"),
        "it measures what the others do, and nobody needs it",
    ),
    Room(
        "commands/*",
        ("commands", "checkers.evidence_base"),
        "the command line is data: modules are named in it, and imported when they are asked for",
    ),
    Room(
        "__main__.py",
        ("commands", "bench", "reports", "checkers", "runtime", "scenarios", "model"),
        "the one place that knows every room",
    ),
    Room("__init__.py", (), "importing the package costs nothing"),
)
COMMAND_LINE = ("__main__.py", "*/cli*")
INPUT = (
    "runtime/plan*", "runtime/contracts/*", "scenarios/*", "checkers/evidence*", "checkers/verify*", "reports/*",
    "checkers/walk_programs.py", "bench/results.py", "bench/figures.py",
)  # fmt: skip
RAW_READERS = (
    "checkers/crash*", "checkers/seed_house*", "checkers/contract_judge*", "checkers/abstraction*",
    "checkers/contract_abstraction*", "checkers/contract_words.py", "checkers/contract_terms.py",
    "checkers/contract_told.py", "checkers/contract_streams.py",
    "checkers/semantics_judge*", "checkers/ended_judge*",
    "checkers/semantics_records*", "checkers/power*", "checkers/chaos_site.py",
    "checkers/stream_store.py", "checkers/campaign/hook_sqlite.py",
    "checkers/campaign/adapters/*",
)  # fmt: skip
NOT_THE_MODEL = ("runtime/*", "scenarios/*", "checkers/*", "reports/*", "__main__.py")
LIBRARIES = (
    Library("z3", "z3-solver", ("checkers/prove*",), "the prover alone knows the solver"),
    Library(
        "cvc5",
        "cvc5",
        ("checkers/second_cvc5.py", "reports/audit/second_process.py"),
        "an extra: the second solver, in a process of its own",
    ),
    Library(
        "cryptography",
        "cryptography",
        ("reports/bundle/*", "reports/audit/*"),
        "Ed25519: a bundle is signed, and an audit verifies",
    ),
    Library(
        "hypothesis",
        "hypothesis",
        ("checkers/conform*", "checkers/contract_conform*", "checkers/campaign/machine.py", "bench/graph_machine.py"),
        "conformance alone draws examples; tests do, too",
    ),
    Library(
        "sqlite3",
        "",
        (
            "runtime/sqlite*",
            "runtime/contracts/sqlite*",
            "runtime/tools*",
            "runtime/verifiers/sql_row.py",
            *RAW_READERS,
            "checkers/enumerate_sqlite.py",
            "bench/step_rows.py",
            "bench/growth.py",
            "bench/peer_langgraph.py",
        ),
        "stores, tools, a verifier of rows, raw readers, who keeps snapshots of a store, what is raw beside one or fills one",
    ),
    Library(
        "psycopg",
        "psycopg",
        (
            "runtime/postgres*",
            "runtime/contracts/postgres*",
            "checkers/chaos_site.py",
            "checkers/stream_store.py",
            "checkers/campaign/databases.py",
            "checkers/campaign/hook_psycopg.py",
            "bench/step_rows.py",
            "bench/growth*",
            "bench/busy.py",
        ),
        "the PostgreSQL store, which no other command loads; who reads its tables from outside; a campaign's databases and hook;"
        " benchmarks",
    ),
    Library(
        "dbos",
        "dbos",
        ("checkers/campaign/adapters/dbos.py", "bench/peer_dbos.py"),
        "an extra: a runtime that others wrote",
    ),
    Library(
        "sqlalchemy",
        "dbos",
        ("checkers/campaign/adapters/dbos.py",),
        "comes with DBOS, whose client takes the engine of another SQLite",
    ),
    Library(
        "pysqlite3",
        "pysqlite3-binary",
        ("checkers/campaign/adapters/dbos.py",),
        "an extra: DBOS needs a newer SQLite than Python may have",
    ),
    Library(
        "msgspec",
        "msgspec",
        ("checkers/abstraction.py", "checkers/stream_lines.py", "runtime/canonical.py", "runtime/store_rules.py"),
        "recorded streams are long, and each event is encoded: JSON is written and parsed in C",
    ),
    Library(
        "httpx",
        "httpx",
        ("runtime/tools*", "runtime/verifiers*", "runtime/providers*", "runtime/inputs_http.py"),
        "a tool and what it reads, who confirms it, and who asks a model, speak to the network",
    ),
    Library(
        "starlette", "starlette", ("runtime/contracts/service*",), "the approval service, which no other command loads"
    ),
    Library("uvicorn", "uvicorn", ("runtime/contracts/serve.py",), "one module opens a port, on loopback"),
    Library(
        "aiosmtpd", "aiosmtpd", ("checkers/crash_mail_server*",), "the worked example's mail server, a process apart"
    ),
    Library(
        "prometheus_client",
        "prometheus-client",
        ("runtime/telemetry_metrics.py",),
        "an extra, loaded when it is asked for",
    ),
    Library(
        "opentelemetry",
        "opentelemetry-exporter-otlp-proto-http",
        ("runtime/telemetry_spans.py",),
        "an extra, loaded when it is asked for; the SDK comes with its exporter",
    ),
    Library(
        "langgraph",
        "langgraph",
        ("checkers/campaign/adapters/langgraph.py", "bench/peer_langgraph.py"),
        "an extra: what its adapter adapts, and a rival",
    ),
    Library(
        "langgraph_checkpoint_sqlite", "langgraph-checkpoint-sqlite", (), "it is imported in LangGraph's namespace"
    ),
    Library(
        "distributed",
        "distributed",
        ("checkers/campaign/cluster.py",),
        "an extra: campaigns on the workers of a cluster",
    ),
    Library("apsw", "apsw", ("checkers/power_record.py",), "the recorder of disk operations alone needs a VFS"),
    Library(
        "networkx",
        "networkx",
        (*INPUT, "checkers/walk_graph.py"),
        "graphs come in with plans and go out in reports; the quotient of a state graph is small enough",
    ),
    Library("pydantic", "pydantic", INPUT, "data is validated where it comes in"),
    Library("yaml", "PyYAML", ("runtime/plan*", "scenarios/*", *COMMAND_LINE), "YAML is read where people hand it in"),
    Library(
        "rfc8785", "rfc8785", NOT_THE_MODEL, "what is stored or hashed is canonical JSON; the model stores nothing"
    ),
    Library(
        "rich",
        "rich",
        ("reports/*", "checkers/campaign/pytest_plugin.py", "bench/shown.py", *COMMAND_LINE),
        "rendering belongs to reports and the command line",
    ),
    Library(
        "pytest",
        "pytest",
        ("checkers/campaign/pytest_plugin.py",),
        "a plugin of it",
    ),
    Library("pytest_benchmark", "pytest-benchmark", (), "a plugin; nobody imports it"),
)


@cache
def read(source: str) -> tuple[list[ast.AST], list[str]]:
    """What may import something in a file's text, and the names that its module binds; each text is parsed once."""
    tree = ast.parse(source)
    names = [t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)]
    names += [n.target.id for n in tree.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
    return [node for node in ast.walk(tree) if imports(node)], names


def imports(node: ast.AST) -> bool:
    """Whether a node may import something."""
    if isinstance(node, ast.Call):
        called = getattr(node.func, "id", getattr(node.func, "attr", ""))
        return called in ("import_module", "__import__")
    return isinstance(node, ast.Import | ast.ImportFrom)


def imported(file: str, source: str) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of each import in a file, late, typing-only and literal dynamic ones included."""
    package = (PACKAGE, *Path(file).parent.parts)

    def absolute(name: str, level: int) -> str:
        return ".".join([*package[: len(package) + 1 - level], *filter(None, [name])]) if level else name

    for node in read(source)[0]:
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                yield from ((node.lineno, f"{absolute(module or '', level)}.{alias.name}") for alias in names)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                bare = name.lstrip(".")
                yield node.lineno, absolute(bare, len(name) - len(bare))


def below(name: str, tops: tuple[str, ...]) -> bool:
    """Whether a dotted name is one of the tops or lies below one."""
    return any(name == top or name.startswith(f"{top}.") for top in tops)


def violations(file: str, source: str) -> list[str]:
    """What in a file breaks a row of the tables above. The file is named from the root, as 'runtime/sqlite.py'."""
    room = next((room for room in ROOMS if fnmatchcase(file, room.files)), None)
    if room is None:
        return [f"{file}: no row of ROOMS covers this file"]
    found = []
    for line, name in imported(file, source):
        top, _, inner = name.partition(".")
        library = next((library for library in LIBRARIES if library.module == top), None)
        if top == PACKAGE:
            if not below(inner, room.may):
                found.append(f"{file}:{line}: may not import {inner or PACKAGE}: {room.why}")
        elif library:
            if not any(fnmatchcase(file, pattern) for pattern in library.files):
                found.append(f"{file}:{line}: may not import {top}: {library.why}")
        elif top not in sys.stdlib_module_names:
            found.append(f"{file}:{line}: no row of LIBRARIES covers {top}; own modules are imported relatively")
    return found


def product() -> list[str]:
    """Each Python file of the product, named from the root."""
    rooms = {room.files.split("/")[0] for room in ROOMS if "/" in room.files}
    files = [*ROOT.glob("*.py"), *(file for room in rooms for file in (ROOT / room).rglob("*.py"))]
    return sorted(file.relative_to(ROOT).as_posix() for file in files if (ROOT / "reports/out") not in file.parents)


@pytest.mark.parametrize("file", product())
def test_imports_keep_to_the_floor_plan(file: str) -> None:
    """A file imports only what its room, and the library's row, allow."""
    found = violations(file, (ROOT / file).read_text(encoding="utf-8"))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("file", "source", "words"),
    [
        ("model/step.py", "from ..runtime import sqlite", "may not import runtime.sqlite"),
        ("model/step.py", "import rfc8785", "may not import rfc8785"),
        ("runtime/core.py", "from ..model.claims import CLAIMS", "may not import model.claims"),
        ("runtime/core.py", "from ..model import windows", "may not import model.windows"),
        ("runtime/core.py", "from .. import model", "may not import model:"),
        ("runtime/core.py", "from ..model import *", "may not import model.*"),
        ("runtime/stores/base.py", "from ...checkers import explore", "may not import checkers.explore"),
        ("runtime/core.py", "from ..scenarios import load", "may not import scenarios.load"),
        ("scenarios/load.py", "import crashwindow.runtime", "may not import runtime"),
        ("checkers/explore.py", "from ..reports import html", "may not import reports.html"),
        ("checkers/explore.py", "def late():\n    import z3", "explore.py:2: may not import z3"),
        ("checkers/explore.py", "import importlib\nimportlib.import_module('z3')", "may not import z3"),
        (
            "checkers/explore.py",
            "import importlib\nimportlib.import_module('..reports.html', __package__)",
            "reports.html",
        ),
        ("checkers/evidence.py", "from .explore import explore", "may not import checkers.explore"),
        (
            "checkers/evidence.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..runtime import x",
            "x",
        ),
        ("checkers/monitor.py", "import sqlite3", "may not import sqlite3"),
        ("reports/html.py", "from ..checkers.crash import sweep", "may not import checkers.crash"),
        ("runtime/core.py", "from hypothesis import given", "may not import hypothesis"),
        ("runtime/core.py", "import rich.table", "may not import rich"),
        ("runtime/core.py", "import requests", "no row of LIBRARIES covers requests"),
        ("runtime/core.py", "import model", "no row of LIBRARIES covers model"),
        ("runtime/core.py", "import crashwindow", "may not import crashwindow"),
        ("__init__.py", "from .model import step", "may not import model.step"),
        ("helpers/text.py", "import re", "no row of ROOMS covers this file"),
    ],
)
def test_a_planted_violation_is_named(file: str, source: str, words: str) -> None:
    """The check itself says no, with file and reason, to each kind of forbidden import."""
    (said,) = violations(file, source)
    assert words in said


def test_allowed_imports_pass() -> None:
    """The check does not say no to everything: what the tables allow passes."""
    assert (
        violations("runtime/core.py", "import json\nfrom ..model.boundaries import BOUNDARIES\nfrom . import sqlite")
        == []
    )
    assert violations("runtime/core.py", "from ..model import policy") == []
    assert violations("runtime/tools/row.py", "import sqlite3\nimport httpx\nfrom ..plan import Plan") == []
    assert violations("checkers/prove_window.py", "from z3 import Solver\nfrom ..model import step") == []
    assert violations("reports/html.py", "from ..checkers import evidence\nfrom rich import table") == []
    assert violations("__main__.py", "from .checkers.crash import sweep\nfrom . import reports") == []


def test_every_room_is_seen() -> None:
    """The check is not vacuous: it reads files of each room, and the rooms are all the packages of the root."""
    rooms = {room.files.split("/")[0] for room in ROOMS}
    assert {file.split("/")[0] for file in product()} == rooms
    assert {found.parent.name for found in ROOT.glob("[!.]*/__init__.py")} == {
        room for room in rooms if "." not in room
    }


def test_libraries_are_the_declared_dependencies() -> None:
    """Each dependency in pyproject.toml, optional or not, has a row that says who may import it, and each row is a dependency."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    requirements = [
        *project["dependencies"],
        *extras["metrics"],
        *extras["otel"],
        *extras["second"],
        *extras["dbos"],
        *extras["langgraph"],
        *extras["dask"],
    ]
    declared = {re.split(r"[^\w.-]", requirement)[0] for requirement in requirements}
    assert {library.distribution for library in LIBRARIES} - {""} == declared


def test_the_root_is_a_floor_plan() -> None:
    """Only `__init__.py`, a docstring and nothing else, and `__main__.py` stand at the root."""
    assert {file.name for file in ROOT.glob("*.py")} == {"__init__.py", "__main__.py"}
    tree = ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    assert len(tree.body) == 1


def test_the_files_that_are_tested_first_are_there() -> None:
    """A long file that is renamed would be begun last, in silence."""
    assert [name for name in LONGEST if not (ROOT / "tests" / f"{name}.py").is_file()] == []


def test_every_decision_has_a_number_of_its_own() -> None:
    """A decision is cited by its number, so no two have one, and each file's title repeats its own."""
    files = sorted((ROOT / "docs/decisions").glob("*.md"))
    assert files
    assert len({file.name[:3] for file in files}) == len(files)
    assert all(file.read_text(encoding="utf-8").startswith(f"# {file.name[:3]}. ") for file in files)


def test_no_name_of_a_module_is_bound_twice() -> None:
    """A module's constants are bound once: who binds one again changes what stands further up, in silence."""
    for file in sorted(ROOT.rglob("*.py")):
        if ".venv" in file.parts or ".links" in file.parts:
            continue
        _, names = read(file.read_text(encoding="utf-8"))
        twice = {name for name in names if names.count(name) > 1}
        assert not twice, f"{file}: {twice}"


def test_no_part_of_a_word_is_shown_as_a_picture() -> None:
    """Each console shows `tool:running:reject` as it is: rich has a picture of that name, in what is no markup, too, and
    schedules and keys are copied from there.
    """
    made = []
    for file in product():
        for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Console":
                made.append((file, {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}))
    assert made
    assert [file for file, given in made if given.get("emoji") != "False"] == []
