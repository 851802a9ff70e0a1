"""What goes in and out of OFREP, the remote evaluation protocol of OpenFeature, version 0.3.0."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tideproof.serve.schemas.field_types import Label, Short

ErrorCode = Literal["PARSE_ERROR", "TARGETING_KEY_MISSING", "INVALID_CONTEXT", "FLAG_NOT_FOUND", "GENERAL"]


class Context(BaseModel):
    """Who is evaluated, and where; other attributes are ignored."""

    model_config = ConfigDict(extra="ignore")
    targetingKey: Annotated[  # noqa: N815  the protocol's name
        Short, Field(description="The unit, such as a visitor: it gets the same arm each time.")
    ]
    environment: Annotated[
        Label | None,
        Field(
            description="When or where; by default the date, in the experiment's time zone or the service's."
        ),
    ] = None


class FlagRequest(BaseModel):
    """A context to evaluate in."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={
            "examples": [{"context": {"targetingKey": "visitor-42", "environment": "monday"}}]
        },
    )
    context: Context


class Flag(BaseModel):
    """An evaluation; one without a value leaves it to the default in the code."""

    key: str = Field(description="The name of the experiment.")
    reason: Literal["SPLIT", "STATIC", "DISABLED"] = Field(
        description="In the test; after it, with the arm it selected; paused, or over without a selection."
    )
    variant: str = Field(description="The arm; empty if there is none.")
    value: str | None = Field(default=None, description="The arm once more.")
    metadata: dict[str, str | int] = Field(description="The pull and its environment, if there is one.")


class FlagFailure(BaseModel):
    """Why a flag was not evaluated."""

    key: str
    errorCode: ErrorCode  # noqa: N815
    errorDetails: str  # noqa: N815


class BulkFailure(BaseModel):
    """Why no flag was evaluated."""

    errorCode: ErrorCode  # noqa: N815
    errorDetails: str  # noqa: N815


class StreamEndpoint(BaseModel):
    """The part of an address behind the host; it has a ticket in it, and is for nobody else."""

    requestUri: str  # noqa: N815


class EventStream(BaseModel):
    """Where a browser is told that something has changed."""

    type: Literal["sse"]
    endpoint: StreamEndpoint


class FlagList(BaseModel):
    """All flags that a key reaches, and where to hear that they changed."""

    flags: list[Flag | FlagFailure]
    eventStreams: list[EventStream] = []  # noqa: N815
