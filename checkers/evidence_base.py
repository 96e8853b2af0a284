"""What every record of the evidence is: strict, closed, unchangeable, and of finite numbers."""

from pydantic import BaseModel, ConfigDict


class Base(BaseModel):
    """A record: what is not known, of another type, or no finite number is refused where it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
