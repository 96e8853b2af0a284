"""What MkDocs calls while it builds the site: pages are completed from what the code, the register and the README say."""

import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from crashwindow.docs.generate.commands import commands
from crashwindow.docs.generate.track_record import campaigns, defects, sentences

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"
DOCUMENTED: Final = (
    "checkers/campaign/adapter.py",
    "checkers/campaign/machine.py",
    "checkers/evidence.py",
    "checkers/evidence_graph.py",
    "checkers/evidence_matrix.py",
    "checkers/evidence_outcome.py",
    "runtime/clients.py",
    "runtime/contracts/commands.py",
    "runtime/contracts/reasoner.py",
    "runtime/contracts/runner.py",
    "runtime/contracts/serve.py",
    "runtime/llm.py",
    "runtime/registry.py",
    "runtime/resolve.py",
    "runtime/retry.py",
    "runtime/tool.py",
    "runtime/verifier.py",
)
"""The modules that the reference speaks of. No other one is parsed: that would take longer than all the rest."""
_INSERT: Final = re.compile(r"^<!-- insert (\w+)(?: (.+))? -->$", re.MULTILINE)
_STAGED: Final[list[Path]] = []


def readme(heading: str) -> str:
    """The section of the README below a heading; its links lead to the site's own pages. Raises ValueError without one."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
    if not found:
        raise ValueError(f"README.md has no section {heading!r}")
    return _from_root(found[1])


def file(name: str) -> str:
    """A file of the root, whole."""
    return _from_root((ROOT / name).read_text(encoding="utf-8"))


def _from_root(text: str) -> str:
    """A text of the root as a page of the site: what lies below docs/ lies beside it."""
    pages = {"docs/decisions": "decisions.md", "ARCHITECTURE.md": "architecture.md", "CHANGELOG.md": "changelog.md"}
    return re.sub(r"\]\(([^)#:]+)", lambda link: "](" + pages.get(link[1], link[1].removeprefix("docs/")), text)


def decisions(_: str) -> str:
    """Every decision, by number, with its title."""
    return "\n".join(f"- [{title}](decisions/{path.name})" for path, title in _decisions())


def _decisions() -> list[tuple[Path, str]]:
    paths = sorted((DOCS / "decisions").glob("*.md"))
    return [(path, path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")) for path in paths]


INSERTED: Final[dict[str, Callable[[str], str]]] = {
    "campaigns": campaigns,
    "commands": commands,
    "decisions": decisions,
    "defects": defects,
    "file": file,
    "readme": readme,
    "sentences": sentences,
}
"""What may stand between `<!-- insert` and `-->`, with an argument or without one."""


@event_priority(100)  # before mkdocstrings reads where its sources are
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Each decision is a page of the navigation; the sources of the reference are laid out for who parses them."""
    assert config.nav is not None
    config.nav[-1]["Decisions"] += [{title: f"decisions/{path.name}"} for path, title in _decisions()]
    staged = Path(tempfile.mkdtemp(prefix="crashwindow-docs-"))
    _STAGED.append(staged)
    for name in DOCUMENTED:
        copy = staged / "crashwindow" / name
        for folder in [copy.parent, *copy.parent.parents]:
            if not folder.is_relative_to(staged / "crashwindow"):
                break
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "__init__.py").touch()
        shutil.copyfile(ROOT / name, copy)
    config.plugins["mkdocstrings"].config["handlers"]["python"]["paths"] = [str(staged)]
    return config


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """What a page has inserted."""
    return _INSERT.sub(lambda found: INSERTED[found[1]](found[2] or ""), markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """Nothing is left behind."""
    while _STAGED:
        shutil.rmtree(_STAGED.pop())
