"""What every record of the evidence is: strict, closed, unchangeable, and of finite numbers."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

LARGEST: Final = 2**53 - 1
"""The largest whole number that every reader of JSON has as the same one: of others there is no canonical JSON (RFC 8785)."""
Seed = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
"""What random choices start from: it is signed, in canonical JSON."""
Ending = Annotated[str, Field(max_length=200)]
"""A final state with the effects of each step, such as `completed/1`, or effects alone."""


class Base(BaseModel):
    """A record: what is not known, of another type, or no finite number is refused where it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
