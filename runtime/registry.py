"""The registry: which tools and providers there are, by name, what confirms changes, and where a user's own come from."""

import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import TypeVar, get_args

from .llm import Provider
from .retry import DEFAULT_RETRY, RetryPolicy
from .tool import Call, Compensation, Look, OnUnknown, Query, Tool
from .verifier import Confirmation, Mode, ResourceVerifier, check_verifier

AnyCall = TypeVar("AnyCall", bound=Call)


class UnknownToolError(LookupError):
    """No tool of this name is registered: names it, the ones there are, and the remedy."""


class DuplicateToolError(ValueError):
    """Two tools of one name: a plan could not say which it means."""


class DuplicateVerifierError(ValueError):
    """Two verifiers of one resource type: a record could not say which confirms it."""


class DuplicateProviderError(ValueError):
    """Two providers of one name: a plan could not say which it asks."""


class ToolSourceError(Exception):
    """A user's tools cannot be loaded: says from where, why, and the remedy."""


class Registry:
    """Tools by name. A name is part of the idempotency key (T-KEY), so it is given, never taken from the function."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._verifiers: dict[str, ResourceVerifier] = {}
        self._providers: dict[str, Provider] = {}
        self._mode: Mode | None = None
        for tool in tools:
            self.add(tool)

    @property
    def tools(self) -> dict[str, Tool]:
        """A copy, by name, in alphabetical order."""
        return dict(sorted(self._tools.items()))

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __getitem__(self, name: str) -> Tool:
        """The tool of this name; raises UnknownToolError."""
        if name in self._tools:
            return self._tools[name]
        close = get_close_matches(name, self._tools, n=1)
        raise UnknownToolError(
            f"tool {name!r} is not registered. "
            + (f"Did you mean {close[0]!r}? " if close else "")
            + f"Known: {', '.join(self.tools) or 'none'}. Tools of your own are loaded with --tools FILE"
        )

    def add(self, tool: Tool) -> None:
        """Register a tool; raises DuplicateToolError, or ValueError when its declaration cannot be used."""
        if tool.name in self._tools:
            raise DuplicateToolError(f"tool {tool.name!r} is registered twice; give one of the two another name")
        _check(tool)
        self._tools[tool.name] = tool

    def tool(
        self,
        *,
        name: str,
        idempotent: bool = False,
        irreversible: bool | None = None,
        on_unknown: OnUnknown = "park",
        query: Query | None = None,
        look: Look = "none",
        quiet_seconds: float = 60.0,
        retry: RetryPolicy = DEFAULT_RETRY,
        timeout_seconds: float = 30.0,
        compensation: Compensation | None = None,
        no_compensation: str | None = None,
    ) -> Callable[[AnyCall], AnyCall]:
        """Register the decorated function `fn(args, context)`, sync or async, under a contract (see `Tool`).

        Its docstring becomes the tool's description. The function itself is returned unchanged. Raises
        DuplicateToolError, or ValueError when the contract contradicts itself.
        """

        def register(call: AnyCall) -> AnyCall:
            self.add(
                Tool(
                    name=name,
                    call=call,
                    description=inspect.getdoc(call) or "",
                    idempotent=idempotent,
                    irreversible=irreversible,
                    on_unknown=on_unknown,
                    query=query,
                    look=look,
                    quiet_seconds=quiet_seconds,
                    retry=retry,
                    timeout_seconds=timeout_seconds,
                    compensation=compensation,
                    no_compensation=no_compensation,
                )
            )
            return call

        return register

    def verify(self, resource_type: str, verifier: ResourceVerifier) -> None:
        """Let `verifier` confirm the recorded changes of this type before they are injected (T-CONFIRM).

        Raises DuplicateVerifierError, or ValueError when it cannot be asked.
        """
        check_verifier(resource_type, verifier)
        if self._verifiers.setdefault(resource_type, verifier) is not verifier:
            raise DuplicateVerifierError(
                f"resource type {resource_type!r} has two verifiers; give one of them another type"
            )

    def provider(self, provider: Provider) -> None:
        """Let the plan's LLM nodes ask this provider, by its name (E-LLM). Raises DuplicateProviderError, or ValueError."""
        if not provider.name or "\0" in provider.name:
            raise ValueError(f"provider {provider.name!r}: a name must not be empty and must not hold a NUL character")
        if self._providers.setdefault(provider.name, provider) is not provider:
            raise DuplicateProviderError(
                f"provider {provider.name!r} is registered twice; give one of the two another name"
            )

    @property
    def providers(self) -> dict[str, Provider]:
        """A copy, by name, in alphabetical order."""
        return dict(sorted(self._providers.items()))

    @property
    def confirmation_mode(self) -> Mode:
        """What a mismatch leads to: `strict` unless set; a word that is no mode is refused with ValueError."""
        return self._mode or "strict"

    @confirmation_mode.setter
    def confirmation_mode(self, mode: Mode) -> None:
        self._mode = Confirmation(mode=mode).mode

    @property
    def confirmation(self) -> Confirmation:
        """The verifiers and the mode, as they are now."""
        return Confirmation(dict(self._verifiers), self.confirmation_mode)

    def merged(self, other: "Registry") -> "Registry":
        """A new registry with the tools, verifiers and providers of both, and the mode that one of them sets.

        The same tool, verifier or provider in both is one. Raises DuplicateToolError, DuplicateVerifierError or
        DuplicateProviderError where two are of one name or type, and ValueError where two modes are set.
        """
        both = Registry([*self, *(tool for tool in other if tool is not self._tools.get(tool.name))])
        for each in (self, other):
            for resource_type, verifier in each._verifiers.items():
                both.verify(resource_type, verifier)
            for provider in each._providers.values():
                both.provider(provider)
        if self._mode and other._mode and self._mode != other._mode:
            raise ValueError(f"two confirmation modes are set, {self._mode!r} and {other._mode!r}; set one")
        both._mode = self._mode or other._mode
        return both


def _check(tool: Tool) -> None:
    """Refuse at registration what would otherwise show only once a request is on its way."""
    if not tool.name or "\0" in tool.name:
        raise ValueError(f"tool {tool.name!r}: a name must not be empty and must not hold a NUL character")
    for option, value, allowed in (
        ("on_unknown", tool.on_unknown, get_args(OnUnknown)),
        ("look", tool.look, get_args(Look)),
    ):
        if value not in allowed:
            raise ValueError(f"tool {tool.name!r}: {option}={value!r} is not one of {', '.join(allowed)}")
    for role, function in (("call", tool.call), ("query", tool.query)):
        if function is None:
            continue
        try:
            inspect.signature(function).bind(None, None)
        except TypeError as error:
            raise ValueError(f"tool {tool.name!r}: its {role} must take (args, context): {error}") from error
    if inspect.iscoroutinefunction(tool.query):
        raise ValueError(f"tool {tool.name!r}: its query must be a plain function, not an async one")


def load_tools(source: str) -> Registry:
    """The registry that a user's module holds; `source` is a path to a .py file or a dotted module name.

    The module holds exactly one `Registry` at its top level, or one that is called `registry`. Its folder (for a dotted
    name the working directory) becomes importable, so that it may import its neighbours. Raises ToolSourceError.
    """
    is_file = source.endswith(".py") or os.sep in source
    try:
        module = _from_file(Path(source)) if is_file else _from_name(source)
    except ToolSourceError:
        raise
    except (Exception, SystemExit) as error:
        raise ToolSourceError(
            f"tools {source!r} cannot be imported: {type(error).__name__}: {error}. "
            "The module must import without errors: try it with `python`"
        ) from error
    return _registry_in(module, source)


def _from_file(path: Path) -> ModuleType:
    """Import a file under a name of its own, which cannot hide another module."""
    if not path.is_file():
        raise ToolSourceError(f"tools {str(path)!r}: there is no such file; give a .py file or a dotted module name")
    path = path.resolve()
    name = f"crashwindow_tools_{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ToolSourceError(f"tools {str(path)!r}: not a Python source file; its name must end in .py")
    _make_importable(path.parent)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _from_name(name: str) -> ModuleType:
    """Import a module by its dotted name."""
    _make_importable(Path.cwd())
    return importlib.import_module(name)


def _make_importable(folder: Path) -> None:
    """Append, never prepend: a user's `random.py` must not replace the library's."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _registry_in(module: ModuleType, source: str) -> Registry:
    """The one registry at the module's top level."""
    named = {name: value for name, value in vars(module).items() if isinstance(value, Registry)}
    if "registry" in named:
        return named["registry"]
    match list({id(registry): registry for registry in named.values()}.values()):
        case [registry]:
            return registry
        case []:
            found = "holds no Registry"
        case _:
            found = f"holds several registries ({', '.join(sorted(named))})"
    raise ToolSourceError(
        f"tools {source!r} {found}; write `registry = Registry()` at its top level "
        "(from crashwindow.runtime.registry) and decorate your functions with `@registry.tool(name=…)`"
    )
