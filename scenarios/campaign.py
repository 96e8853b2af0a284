"""Files of crash campaigns: which runtimes are tried, which boundaries are struck and how, and what is expected of each.

A file is YAML. A name without a suffix is one that ships, from `scenarios/campaigns`; an adapter's file is looked up beside the
campaign's own.
"""

import re
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

CAMPAIGNS: Final = Path(__file__).parent / "campaigns"

Kept = Literal["kept", "broken"]
Fault = Literal["before", "after", "held", "paused", "power"]


def _named(name: str) -> str:
    """A name that can be one of a file. Raises ValueError."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise ValueError(
            f"{name!r} is no name: write it in small letters, digits and hyphens, as my-runtime, and not with a hyphen first"
        )
    return name


Name = Annotated[str, AfterValidator(_named)]


class CampaignError(ValueError):
    """A campaign's file that cannot be used: names it, what is wrong, and the remedy."""


class _Base(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Expected(_Base):
    """What has to come out. promise: of the runtime's own documentation. at_most_once: of ours; None: whatever it is."""

    promise: Kept = "kept"
    at_most_once: Kept | None = None


class Tried(_Base):
    """One runtime. adapter: a class, as module:Class or file.py:Class; or a command that speaks JSON lines. options: of the
    class."""

    name: Name
    adapter: str = ""
    command: tuple[str, ...] = ()
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)
    expect: Expected = Expected()

    @model_validator(mode="after")
    def _either(self) -> "Tried":
        if bool(self.adapter) == bool(self.command):
            raise ValueError(f"{self.name}: give either an adapter or a command")
        return self


class CampaignFile(_Base):
    """A campaign. steps: of the job, one effect each. hold_seconds: how long a held boundary is held before the kill.

    boundaries: found by a hook on commits in the process, or by the interception of system calls. bisect: between two
    boundaries that end alike, and well, none is run, but an effect and those beside it always are.
    """

    name: Name
    title: str
    boundaries: Literal["commits", "calls"] = "commits"
    strikes: tuple[Fault, ...] = ("before", "after", "held", "paused")
    steps: tuple[str, ...] = Field(default=("a", "b", "c"), min_length=1)
    hold_seconds: float = Field(default=0.15, ge=0, le=60)
    bisect: bool = False
    subjects: tuple[Tried, ...] = Field(min_length=1)

    @field_validator("strikes")
    @classmethod
    def _some(cls, strikes: tuple[Fault, ...]) -> tuple[Fault, ...]:
        if not strikes or len(set(strikes)) < len(strikes):
            raise ValueError(f"name one or more of {', '.join(get_args(Fault))}, each once, or leave it out")
        return strikes

    @model_validator(mode="after")
    def _distinct(self) -> "CampaignFile":
        for what, names in (("subjects", [each.name for each in self.subjects]), ("steps", list(self.steps))):
            if len(set(names)) < len(names):
                raise ValueError(f"{what}: each needs a name of its own, not {', '.join(names)}")
        return self


def shipped_campaigns() -> list[str]:
    """The names of the campaigns that ship."""
    return sorted(file.stem for file in CAMPAIGNS.glob("*.yaml"))


def campaign_path(name: str) -> Path:
    """The file of a campaign: a path, or the name of one that ships. Raises CampaignError."""
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        path = CAMPAIGNS / f"{name}.yaml"
        if not path.is_file():
            raise CampaignError(
                f"there is no campaign {name!r}; there are {', '.join(shipped_campaigns())}; or give a .yaml file, as"
                " `crashwindow campaign new DIRECTORY` writes one"
            )
    return path


def load_campaign(path: Path) -> CampaignFile:
    """A campaign from its file, adapters' files named from where it lies. Raises CampaignError."""
    try:
        told = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(told, dict):
            raise CampaignError(
                f"{path}: {'is empty' if told is None else 'holds no keys'}: a campaign names its subjects, as in the file that"
                " `crashwindow campaign new DIRECTORY` writes"
            )
        read = CampaignFile.model_validate(told)
    except OSError as error:
        raise CampaignError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CampaignError(f"{path}: is not YAML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise CampaignError(f"{path}: {where}: {first['msg'].removeprefix('Value error, ')}") from error
    subjects = [each.model_copy(update={"adapter": _beside(path, each.adapter)}) for each in read.subjects]
    return read.model_copy(update={"subjects": tuple(subjects)})


def _beside(path: Path, adapter: str) -> str:
    """An adapter's name; a file's, from where the campaign's file lies."""
    file, _, name = adapter.rpartition(":")
    return f"{(path.parent / file).resolve()}:{name}" if file.endswith(".py") else adapter
