"""Keys and who calls, as OpenAPI has them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, StrictStr

from tideproof.serve.schemas.field_types import Body, Name, Short, example


class NewKey(Body):
    """A key to make."""

    model_config = example({"name": "shop front", "role": "evaluator", "experiments": ["prices"]})
    name: Short
    role: Literal["viewer", "evaluator", "reporter", "editor", "admin"]
    experiments: Annotated[list[Name] | None, Field(max_length=1000, description="null for all.")] = None


class KeyInfo(BaseModel):
    """A key, without its secret."""

    id: str
    name: str
    role: str
    experiments: list[str] | None
    made_at: float
    made_by: str | None
    revoked_at: float | None
    revoked_by: str | None


class MadeKey(KeyInfo):
    """A new key; its secret is shown this once."""

    secret: str


class KeyList(BaseModel):
    """All keys."""

    keys: list[KeyInfo]


class Login(Body):
    """A key to log in with."""

    model_config = example({"key": "tp_..."})
    key: Annotated[StrictStr, Field(min_length=1, max_length=500)]


class Who(BaseModel):
    """Who calls."""

    id: str
    name: str
    role: str
    experiments: list[str] | None
