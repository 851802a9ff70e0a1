"""Columns are guessed from names and types, and only where there is no doubt."""

from __future__ import annotations

import pytest

from tideproof.data.column_guess import guess_columns
from tideproof.errors import InputError

TYPES = {"variant": "VARCHAR", "day": "DATE", "sales": "DOUBLE"}


def test_names_decide():
    assert guess_columns(TYPES | {"user": "BIGINT"}, None, None, None)[:3] == ("variant", "day", "sales")
    assert guess_columns({"ID": "BIGINT", "Sales": "DOUBLE", "DAY": "DATE", "Arm": "VARCHAR"}, None, None, None) == (
        "Arm", "DAY", "Sales", ("arm", "environment", "reward"),
    )  # fmt: skip


def test_what_is_given_is_taken():
    assert guess_columns({}, "a", "b", "c") == ("a", "b", "c", ())
    assert guess_columns(TYPES, None, None, "sales") == ("variant", "day", "sales", ("arm", "environment"))
    assert guess_columns(TYPES | {"price": "BIGINT"}, "price", None, None)[:3] == ("price", "day", "sales")
    # a given column is no longer free: neither by itself nor behind a timestamp
    assert guess_columns({"day": "TIMESTAMP", "period": "VARCHAR", "y": "DOUBLE"}, None, "day(day)", None) == (
        "period", "day(day)", "y", ("arm", "reward"),
    )  # fmt: skip
    with pytest.raises(InputError, match="which column is the arm"):
        guess_columns({"day": "TIMESTAMP", "y": "DOUBLE"}, None, "day(day)", None)


def test_timestamps_become_days():
    for kind in ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS"):
        assert guess_columns(TYPES | {"day": kind}, None, None, None).environment == "day(day)"
    assert guess_columns(TYPES, None, None, None).environment == "day"
    assert guess_columns(TYPES | {"day": "VARCHAR"}, None, None, None).environment == "day"
    found = guess_columns(
        {"variant": "VARCHAR", "created_at": "TIMESTAMP WITH TIME ZONE", "eur": "DOUBLE"}, None, None, None
    )
    assert found == ("variant", "day(created_at)", "eur", ("arm", "environment", "reward"))
    # a day by name goes before a timestamp; two timestamps leave a doubt, text is none
    both = {"variant": "VARCHAR", "day": "VARCHAR", "ts": "TIMESTAMP", "y": "DOUBLE"}
    assert guess_columns(both, None, None, None).environment == "day"
    with pytest.raises(InputError, match="which column is the environment"):
        guess_columns(
            {"variant": "VARCHAR", "ts": "TIMESTAMP", "created": "TIMESTAMP", "y": "DOUBLE"}, None, None, None
        )
    with pytest.raises(InputError, match="which column is the environment"):
        guess_columns({"variant": "VARCHAR", "ts": "VARCHAR", "y": "DOUBLE", "z": "DOUBLE"}, None, None, None)


def test_the_only_one_left():
    assert guess_columns({"shop": "VARCHAR", "day": "DATE", "y": "DOUBLE"}, None, None, None).arm == "shop"
    assert (
        guess_columns({"variant": "VARCHAR", "shop": "VARCHAR", "y": "DOUBLE"}, None, None, None).environment
        == "shop"
    )
    assert (
        guess_columns({"variant": "VARCHAR", "day": "DATE", "won": "BOOLEAN"}, None, None, None).reward
        == "won"
    )
    # text, by place or by name: what is no number in it will be said, with its line
    assert (
        guess_columns({"variant": "VARCHAR", "day": "DATE", "won": "VARCHAR"}, None, None, None).reward
        == "won"
    )
    assert guess_columns(TYPES | {"sales": "VARCHAR", "id": "BIGINT"}, None, None, None).reward == "sales"
    assert guess_columns(TYPES | {"value": "VARCHAR"}, None, None, None).reward == "sales"  # numbers go first
    with pytest.raises(InputError, match="which column is the reward"):
        guess_columns({"variant": "VARCHAR", "day": "DATE", "won": "TIMESTAMP"}, None, None, None)
    with pytest.raises(InputError, match="which column is the reward"):
        guess_columns(TYPES | {"revenue": "DOUBLE"}, None, None, None)
    with pytest.raises(InputError, match="which column is the arm"):  # two roles are open
        guess_columns({"shop": "VARCHAR", "y": "DOUBLE"}, None, None, None)


def test_what_is_not_needed_is_not_guessed():
    types = {"variant": "VARCHAR", "clicks": "BIGINT", "shown": "BIGINT"}
    found = guess_columns(types, None, None, None, needed=["arm"], taken=["clicks", "shown"])
    assert found == ("variant", None, None, ("arm",))
    assert str(found) == "arm = variant"
    wide = {"day": "DATE", "A": "DOUBLE", "B": "DOUBLE"}
    assert (
        guess_columns(wide, None, None, None, needed=["environment"], taken=["A", "B"]).environment == "day"
    )
    left = guess_columns(
        wide | {"x": "VARCHAR"}, None, "day", None, needed=["arm", "environment"], taken=["A", "B"]
    )
    assert left.arm == "x"
    with pytest.raises(InputError, match="which column is the environment: use --environment, or --no-env"):
        guess_columns({"variant": "VARCHAR", "y": "DOUBLE"}, None, None, None)


def test_a_doubt_names_the_columns():
    types = {"shop": "VARCHAR", "when": "TIMESTAMP", "eur": "DOUBLE", "id": "BIGINT"}
    listed = r"which column is the arm: use --arm; columns: 'shop', 'when', 'eur', 'id'$"
    with pytest.raises(InputError, match=listed):
        guess_columns(types, None, None, None)
    with pytest.raises(InputError, match=r"'3.5'; does the table have a header with names\?$"):
        guess_columns({"A": "VARCHAR", "1": "BIGINT", "3.5": "DOUBLE"}, None, None, None)
