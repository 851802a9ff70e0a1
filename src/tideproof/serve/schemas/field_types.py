"""What fields of requests and answers have in common, as OpenAPI has it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

MANY = 10_000  # pulls, rewards or events in one request or answer
ARMS = 200
WHOLE = 2**53  # the largest whole number that every JSON reader knows

NAME = r"^[^/\x00-\x1f\x7f]+$"
Name = Annotated[StrictStr, Field(min_length=1, max_length=200, pattern=NAME)]
Text = Annotated[StrictStr, Field(max_length=10_000)]
Short = Annotated[StrictStr, Field(min_length=1, max_length=200)]
Whole = Annotated[StrictInt, Field(ge=-WHOLE, le=WHOLE)]
Label = Annotated[Short | Whole, Field(description="An environment: when or where, such as a day.")]
Unit = Annotated[Short | Whole, Field(description="Who gets a pull, such as a visitor; only a hash is kept.")]
Number = Annotated[StrictFloat | Whole, Field(description="A finite number.")]
By = Annotated[Short | None, Field(description="Who does it, for the record, beside the name of the key.")]


class Body(BaseModel):
    """What a client sends: nothing that is not known here."""

    model_config = ConfigDict(extra="forbid")


def example(*examples: dict[str, Any]) -> ConfigDict:
    """Return the settings of a body that has examples."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": list(examples)})
