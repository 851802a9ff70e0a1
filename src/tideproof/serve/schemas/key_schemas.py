"""Schemas of API keys and logins."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, StrictStr

from tideproof.serve.schemas.field_types import Name, RequestBody, Short, example


class KeyBody(RequestBody):
    """An API key to create."""

    model_config = example({"name": "shop front", "role": "public", "experiments": ["prices"]})
    name: Annotated[Short, Field(description="Name of the person or program that uses the key.")]
    role: Annotated[
        Literal["viewer", "public", "evaluator", "reporter", "editor", "admin"],
        Field(
            description="`viewer` reads results. `evaluator` only requests the arms of units and reports "
            "that units saw them. `public` can do the same, with a limit of new units per minute, and always "
            "in the environment of the current date; it is for keys that anybody can read, in web pages and "
            "apps. `reporter` can do what `viewer` and `evaluator` can, and also requests "
            "pulls and reports rewards. `editor` also creates, changes and stops experiments. `admin` also "
            "manages keys and webhooks."
        ),
    ]
    experiments: Annotated[
        list[Name] | None,
        Field(
            max_length=1000, description="Experiments to which the key is restricted, by name; null for all."
        ),
    ] = None


class KeyInfo(BaseModel):
    """An API key, without its secret."""

    id: str
    name: str
    role: str
    experiments: list[str] | None
    made_at: float
    made_by: str | None
    revoked_at: float | None
    revoked_by: str | None


class CreatedKey(KeyInfo):
    """A new API key with its secret, which is shown only once."""

    secret: str


class KeyList(BaseModel):
    """API keys that the caller may see."""

    keys: list[KeyInfo]


class LoginBody(RequestBody):
    """An API key to log in with."""

    model_config = example({"key": "tp_...", "person": "ann"})
    key: Annotated[StrictStr, Field(min_length=1, max_length=500)]
    person: Annotated[
        StrictStr,
        Field(
            max_length=100,
            description="Name of the person who logs in, recorded with the changes that they make.",
        ),
    ] = ""


class CallerInfo(BaseModel):
    """The API key of the caller, and the person who logged in with it."""

    id: str
    name: str
    role: str
    experiments: list[str] | None
    person: str = Field(description="Name that was given at login; empty without one.")
