"""Schemas of OFREP, OpenFeature's remote evaluation protocol, version 0.3.0."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tideproof.serve.schemas.field_types import Label, Short

ErrorCode = Literal["PARSE_ERROR", "TARGETING_KEY_MISSING", "INVALID_CONTEXT", "FLAG_NOT_FOUND", "GENERAL"]


class Context(BaseModel):
    """OpenFeature context: the unit (such as a visitor) and its environment; other attributes are ignored."""

    model_config = ConfigDict(extra="ignore")
    targetingKey: Annotated[  # noqa: N815  the protocol's name
        Short, Field(description="The unit, such as a visitor. It gets the same arm each time.")
    ]
    environment: Annotated[
        Label | None,
        Field(
            description="Environment; by default the current date in the time zone of the experiment or, "
            "without one, of the service."
        ),
    ] = None


class FlagRequest(BaseModel):
    """Request to evaluate feature flags for the unit and the environment in an OpenFeature context."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={
            "examples": [{"context": {"targetingKey": "visitor-42", "environment": "monday"}}]
        },
    )
    context: Context


class Flag(BaseModel):
    """Evaluation of a feature flag; if it has no value, the client uses the default in its own code."""

    key: str = Field(description="Name of the experiment.")
    reason: Literal["SPLIT", "STATIC", "DISABLED"] = Field(
        description="SPLIT: the unit is in the experiment. STATIC: the unit gets the arm that is shipped or, "
        "while the budget is used up and nothing is decided, the control arm. DISABLED: there is no such "
        "arm, because the experiment was stopped without a choice, is paused, or has no control arm."
    )
    variant: str = Field(description="The arm; empty if there is none.")
    value: str | None = Field(default=None, description="The arm, as the value of the flag.")
    metadata: dict[str, str | int] = Field(description="Id and environment of the pull, if there is one.")


class FlagFailure(BaseModel):
    """Error response for one feature flag that could not be evaluated."""

    key: str
    errorCode: ErrorCode  # noqa: N815
    errorDetails: str  # noqa: N815


class BulkFailure(BaseModel):
    """Error response to a request for all feature flags, of which none could be evaluated."""

    errorCode: ErrorCode  # noqa: N815
    errorDetails: str  # noqa: N815


class StreamEndpoint(BaseModel):
    """Path and query of the URL of an event stream; they contain a secret token."""

    requestUri: str  # noqa: N815


class EventStream(BaseModel):
    """Event stream that tells a browser when feature flags have changed."""

    type: Literal["sse"]
    endpoint: StreamEndpoint


class FlagList(BaseModel):
    """Evaluations of all feature flags that the API key may read, and the event stream of their changes."""

    flags: list[Flag | FlagFailure]
    eventStreams: list[EventStream] = []  # noqa: N815
