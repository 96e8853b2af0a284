"""What the lines of a stream have to look like before anything is made of them."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class Shape(BaseModel):
    """A line, or a part of one: these names, with values of these types. What else is there nobody reads."""

    model_config = ConfigDict(strict=True)


class LedgerRow(Shape):
    """A row of the ledger."""

    step: str
    status: str
    result: Any
    key: str


class EffectRow(Shape):
    """A record of the effect store."""

    step: str
    output: Any
    failed: bool
    key: str
    kind: str


class AnswerRow(Shape):
    """What a person has answered."""

    contract_id: str
    decision: str
    digest: str | None


class Records(Shape):
    """What the stores held in the end."""

    status: str
    version: int
    ledger: list[LedgerRow]
    effects: list[EffectRow]
    answers: list[AnswerRow]


class Head(Shape):
    """The first line of a job: its records, and the contract that each tool declares."""

    job_id: str
    records: Records
    declared: dict[str, dict[str, str]]


class Line(Shape):
    """Any other line: an event."""

    job_id: str
    version: int
    type: str
    step: str | None
    epoch: int | None
    data: dict[str, Any]
