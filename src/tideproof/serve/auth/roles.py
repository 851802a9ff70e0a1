"""Roles of API keys: each is a set of rights, and every route names the right that it needs.

The role `public` has the rights of an evaluator, with limits: see `visitor_limits`.
"""

from __future__ import annotations

from enum import StrEnum


class Right(StrEnum):
    """Right that a route of the service requires of the caller's API key."""

    OPEN = "open"  # no key is needed
    ANY = "any"  # any valid key is enough
    READ = "read"
    EVALUATE = "evaluate"
    REPORT = "report"
    EDIT = "edit"
    ADMIN = "admin"


ROLES: dict[str, frozenset[Right]] = {
    "viewer": frozenset({Right.ANY, Right.READ}),
    "public": frozenset({Right.ANY, Right.EVALUATE}),  # an evaluator whose key anybody can read
    "evaluator": frozenset({Right.ANY, Right.EVALUATE}),
    "reporter": frozenset({Right.ANY, Right.READ, Right.EVALUATE, Right.REPORT}),
    "editor": frozenset({Right.ANY, Right.READ, Right.EVALUATE, Right.REPORT, Right.EDIT}),
    "admin": frozenset({Right.ANY, Right.READ, Right.EVALUATE, Right.REPORT, Right.EDIT, Right.ADMIN}),
}
