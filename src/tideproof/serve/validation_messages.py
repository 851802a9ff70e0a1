"""Translate validation errors of Pydantic to plain sentences for users.

The sentences name the field, its value and what is allowed.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from tideproof.errors import describe_value
from tideproof.serve.schemas.experiment_schemas import CHANGES
from tideproof.serve.schemas.field_types import NAME

_MOST = 5  # maximum number of errors in one message
_SHOWN = 100  # longest description of a value that is quoted
_PARTS_OF_REQUEST = ("body", "query", "header", "path", "cookie")

# Names that Pydantic adds to the location of an error for the members of a union
_UNION_MEMBER = re.compile(r"str|int|float|bool|(constrained|function|lax|nullable)[-_].*|\w+\[.*\]")

# Error types that mean that a value has the wrong type, and the name of the right type
_TYPES = {
    "string_type": "a string",
    "string_unicode": "a string of valid Unicode characters",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a JSON object",
    "model_type": "a JSON object",
    "model_attributes_type": "a JSON object",
}
_PATTERNS = {NAME: "must not contain slashes or control characters, not {value}"}


def describe_request_errors(request: Request, error: RequestValidationError) -> str:
    """Return the validation errors of an HTTP request as one line of text.

    It contains suggestions for misspelled field names.
    """
    body = getattr(request.scope.get("route"), "body_field", None)
    allowed = () if body is None else tuple(_field_names(body.field_info.annotation))
    return describe_validation_errors(error, allowed)


def describe_validation_errors(
    error: ValidationError | RequestValidationError,
    allowed: tuple[str, ...] = (),
) -> str:
    """Return the validation errors of Pydantic as one line of text.

    For each field, a sentence says what is allowed.

    Parameters
    ----------
    allowed
        Names of the fields of the request, for suggestions when an unknown field is given.
    """
    by_field: dict[str, list[Any]] = {}
    for each in error.errors():
        by_field.setdefault(_field(each["loc"]), []).append(each)
    said = []
    for field, found in list(by_field.items())[:_MOST]:
        said.append(_describe_field(field or "the body", found, allowed))
    return "; ".join(said)


def _describe_field(field: str, found: list[Any], allowed: tuple[str, ...]) -> str:
    """Return the validation errors of one field as one sentence.

    A field of a union type can have several errors.
    """
    if isinstance(found[0]["input"], bytes):  # FastAPI decodes a body only if the header says that it is JSON
        return f"{field} must be JSON, with the header Content-Type: application/json"
    others = [each for each in found if each["type"] not in _TYPES]
    if others:
        return _describe_error(field, others[0], allowed)
    types = list(dict.fromkeys(_TYPES[each["type"]] for each in found))
    if "a number" in types:
        types = [each for each in types if each != "a whole number"]
    return f"{field} must be {' or '.join(types)}, not {_shown(found[0]['input'])}"


def _describe_error(field: str, error: Any, allowed: tuple[str, ...]) -> str:
    """Describe in a sentence one validation error that is not about the type of a value."""
    kind, value, limits = error["type"], error["input"], error.get("ctx", {})
    if kind == "missing":
        return f"{field} is missing"
    if kind == "extra_forbidden":
        similar = difflib.get_close_matches(str(error["loc"][-1]), allowed, n=1)
        return f"unknown field {field!r}" + (f"; did you mean {similar[0]!r}?" if similar else "")
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        tag = limits["discriminator"].strip("'")
        allowed_tags = f"must be one of {', '.join(CHANGES)}"
        if "tag" not in limits:
            return f"{tag} is missing; it {allowed_tags}"
        return f"{tag} {allowed_tags}, not {_shown(limits['tag'])}"
    if kind in ("literal_error", "enum"):
        return f"{field} must be {limits['expected']}, not {_shown(value)}"
    if kind == "string_pattern_mismatch" and limits["pattern"] in _PATTERNS:
        return f"{field} {_PATTERNS[limits['pattern']].format(value=_shown(value))}"
    if kind == "json_invalid":
        problem = limits["error"][:1].lower() + limits["error"][1:]
        return f"{field} is not valid JSON: {problem} at character {error['loc'][-1]}"
    return _describe_limit(field, kind, value, limits) or f"{field}: {error['msg']}"


def _describe_limit(field: str, kind: str, value: Any, limits: Mapping[str, Any]) -> str:
    """Return the error message for a number, a text length or a list length that is out of bounds."""
    if kind in ("greater_than_equal", "less_than_equal"):
        bound = f"at least {limits['ge']:,}" if "ge" in limits else f"at most {limits['le']:,}"
        return f"{field} must be {bound}, not {value}"
    if kind == "string_too_short" and limits["min_length"] == 1:
        return f"{field} must not be empty"
    least = "at least" if kind.endswith("too_short") else "at most"
    bound = limits.get("min_length", limits.get("max_length"))
    if kind in ("string_too_short", "string_too_long"):
        return f"{field} must have {least} {bound:,} characters, not {len(value):,}"
    if kind in ("too_short", "too_long"):
        return f"{field} must have {least} {bound:,} entries, not {len(value):,}"
    return ""


def _field(location: tuple[int | str, ...]) -> str:
    """Convert the location of a Pydantic error to the path of a request field, such as `rewards[2].reward`.

    Names that are only in Pydantic's location are left out; the path of the whole body is empty.

    >>> _field(("body", "rewards", 2, "reward", "float")), _field(("body", "note", "text"))
    ('rewards[2].reward', 'text')
    """
    parts = list(location)
    if parts and parts[0] in _PARTS_OF_REQUEST:
        del parts[0]
    if len(parts) > 1 and parts[0] in CHANGES:
        del parts[0]
    if len(parts) == 1 and isinstance(parts[0], int):  # a position in invalid JSON
        return ""
    path = ""
    for part in parts:
        if part == "[key]":  # the part before is a name that the client chose
            path = f"a name in {path.rpartition('.')[0]}"
        elif isinstance(part, int):
            path += f"[{part}]"
        elif not path or not _UNION_MEMBER.fullmatch(part):
            path += f".{part}" if path else part
    return path


def _field_names(annotation: Any) -> Iterator[str]:
    """Yield the names of all fields of the Pydantic models in a type annotation, including nested models."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            yield name
            yield from _field_names(field.annotation)
    else:
        for part in get_args(annotation):
            yield from _field_names(part)


def _shown(value: Any) -> str:
    """Return a value as text for an error message, shortened if it is long.

    The text is JSON unless the value is a string.
    """
    if isinstance(value, (bool, type(None), list, dict)):
        try:
            text = json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError):
            text = describe_value(value)
    else:
        text = describe_value(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
