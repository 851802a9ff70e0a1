"""Types of fields that several schemas of requests and responses share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

MANY = 10_000  # maximum number of pulls, rewards or events in one request or response
ARMS = 200  # maximum number of arms
ENVIRONMENTS = 100_000  # maximum number of environments from which a policy chooses
WHOLE = 2**53  # largest integer that every JSON parser represents exactly

NAME = r"^[^/\x00-\x1f\x7f]+$"
Name = Annotated[StrictStr, Field(min_length=1, max_length=200, pattern=NAME)]
Text = Annotated[StrictStr, Field(max_length=10_000)]
Short = Annotated[StrictStr, Field(min_length=1, max_length=200)]
ExperimentContents = Annotated[StrictInt, Field(ge=-WHOLE, le=WHOLE)]
Label = Annotated[
    Short | ExperimentContents,
    Field(description="Environment: a period or group with a common shift, such as a day."),
]
Unit = Annotated[
    Short | ExperimentContents,
    Field(description="Unit that is assigned an arm, such as a visitor; only its hash is stored."),
]
Number = Annotated[StrictFloat | ExperimentContents, Field(description="A finite number.")]
By = Annotated[
    Short | None, Field(description="Author of the request; stored in the event with the name of the key.")
]


class RequestBody(BaseModel):
    """Base class of request bodies; unknown fields are an error."""

    model_config = ConfigDict(extra="forbid")


def example(*examples: dict[str, Any]) -> ConfigDict:
    """Return a Pydantic configuration that adds an example to the schema of a request body."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": list(examples)})
