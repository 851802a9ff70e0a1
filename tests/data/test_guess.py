"""Columns are guessed from names and types, and only where there is no doubt."""

from __future__ import annotations

import pytest

from tideproof.data.column_guess import guess
from tideproof.errors import InputError

TYPES = {"variant": "VARCHAR", "day": "DATE", "sales": "DOUBLE"}


def test_names_decide():
    assert guess(TYPES | {"user": "BIGINT"}, None, None, None)[:3] == ("variant", "day", "sales")
    assert guess({"ID": "BIGINT", "Sales": "DOUBLE", "DAY": "DATE", "Arm": "VARCHAR"}, None, None, None) == (
        "Arm", "DAY", "Sales", ("arm", "environment", "reward"),
    )  # fmt: skip


def test_what_is_given_is_taken():
    assert guess({}, "a", "b", "c") == ("a", "b", "c", ())
    assert guess(TYPES, None, None, "sales") == ("variant", "day", "sales", ("arm", "environment"))
    assert guess(TYPES | {"price": "BIGINT"}, "price", None, None)[:3] == ("price", "day", "sales")
    # a given column is no longer free: neither by itself nor behind a timestamp
    assert guess({"day": "TIMESTAMP", "period": "VARCHAR", "y": "DOUBLE"}, None, "day(day)", None) == (
        "period", "day(day)", "y", ("arm", "reward"),
    )  # fmt: skip
    with pytest.raises(InputError, match="which column is the arm"):
        guess({"day": "TIMESTAMP", "y": "DOUBLE"}, None, "day(day)", None)


def test_timestamps_become_days():
    for kind in ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS"):
        assert guess(TYPES | {"day": kind}, None, None, None).environment == "day(day)"
    assert guess(TYPES, None, None, None).environment == "day"
    assert guess(TYPES | {"day": "VARCHAR"}, None, None, None).environment == "day"
    found = guess(
        {"variant": "VARCHAR", "created_at": "TIMESTAMP WITH TIME ZONE", "eur": "DOUBLE"}, None, None, None
    )
    assert found == ("variant", "day(created_at)", "eur", ("arm", "environment", "reward"))
    # a day by name goes before a timestamp; two timestamps leave a doubt, text is none
    both = {"variant": "VARCHAR", "day": "VARCHAR", "ts": "TIMESTAMP", "y": "DOUBLE"}
    assert guess(both, None, None, None).environment == "day"
    with pytest.raises(InputError, match="which column is the environment"):
        guess(
            {"variant": "VARCHAR", "ts": "TIMESTAMP", "created": "TIMESTAMP", "y": "DOUBLE"}, None, None, None
        )
    with pytest.raises(InputError, match="which column is the environment"):
        guess({"variant": "VARCHAR", "ts": "VARCHAR", "y": "DOUBLE", "z": "DOUBLE"}, None, None, None)


def test_the_only_one_left():
    assert guess({"shop": "VARCHAR", "day": "DATE", "y": "DOUBLE"}, None, None, None).arm == "shop"
    assert (
        guess({"variant": "VARCHAR", "shop": "VARCHAR", "y": "DOUBLE"}, None, None, None).environment
        == "shop"
    )
    assert guess({"variant": "VARCHAR", "day": "DATE", "won": "BOOLEAN"}, None, None, None).reward == "won"
    # text, by place or by name: what is no number in it will be said, with its line
    assert guess({"variant": "VARCHAR", "day": "DATE", "won": "VARCHAR"}, None, None, None).reward == "won"
    assert guess(TYPES | {"sales": "VARCHAR", "id": "BIGINT"}, None, None, None).reward == "sales"
    assert guess(TYPES | {"value": "VARCHAR"}, None, None, None).reward == "sales"  # numbers go first
    with pytest.raises(InputError, match="which column is the reward"):
        guess({"variant": "VARCHAR", "day": "DATE", "won": "TIMESTAMP"}, None, None, None)
    with pytest.raises(InputError, match="which column is the reward"):
        guess(TYPES | {"revenue": "DOUBLE"}, None, None, None)
    with pytest.raises(InputError, match="which column is the arm"):  # two roles are open
        guess({"shop": "VARCHAR", "y": "DOUBLE"}, None, None, None)


def test_what_is_not_needed_is_not_guessed():
    types = {"variant": "VARCHAR", "clicks": "BIGINT", "shown": "BIGINT"}
    found = guess(types, None, None, None, needed=["arm"], taken=["clicks", "shown"])
    assert found == ("variant", None, None, ("arm",))
    assert str(found) == "arm = variant"
    wide = {"day": "DATE", "A": "DOUBLE", "B": "DOUBLE"}
    assert guess(wide, None, None, None, needed=["environment"], taken=["A", "B"]).environment == "day"
    left = guess(wide | {"x": "VARCHAR"}, None, "day", None, needed=["arm", "environment"], taken=["A", "B"])
    assert left.arm == "x"
    with pytest.raises(InputError, match="which column is the environment: use --environment, or --no-env"):
        guess({"variant": "VARCHAR", "y": "DOUBLE"}, None, None, None)


def test_a_doubt_names_the_columns():
    types = {"shop": "VARCHAR", "when": "TIMESTAMP", "eur": "DOUBLE", "id": "BIGINT"}
    listed = r"which column is the arm: use --arm; columns: 'shop', 'when', 'eur', 'id'$"
    with pytest.raises(InputError, match=listed):
        guess(types, None, None, None)
    with pytest.raises(InputError, match=r"'3.5'; does the table have a header with names\?$"):
        guess({"A": "VARCHAR", "1": "BIGINT", "3.5": "DOUBLE"}, None, None, None)
