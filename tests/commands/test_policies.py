"""`tideproof policies` on wide and narrow screens."""

import json

from typer.testing import CliRunner

import tideproof as tp
from tideproof.cli import app
from tideproof.report.policy_pages import overview


def shown(columns, *arguments):
    done = CliRunner().invoke(app, ["policies", *arguments], env={"COLUMNS": str(columns)})
    assert done.exit_code == 0
    return done.stdout.splitlines()


def test_a_table_needs_76_columns():
    header = {"name", "idea", "needs", "budget", "adjusts", "for", "shifts", "reference"}
    assert set(" ".join(shown(76)[:2]).split()) == header
    assert shown(75)[0] == overview()["name"][0]


def test_on_a_narrow_screen_facts_are_indented_below_the_name():
    row = overview().to_dicts()[0]
    assert (row["name"], row["horizon"], row["shifts"]) == ("contrast", "needed", "aware")
    facts = f"{row['idea']}. Needs budget: yes; adjusts for shifts: yes. {row['reference']}."
    lines = shown(60)
    assert lines[0] == row["name"]
    end = lines.index(overview()["name"][1])
    assert all(line.startswith("  ") and line[2] != " " for line in lines[1:end])
    assert " ".join(line.strip() for line in lines[1:end]) == facts


def test_a_narrow_screen_is_used_to_its_edge():
    assert any(max(len(line.rstrip()) for line in shown(width)) == width for width in range(50, 76, 2))


def test_all_are_listed_and_what_can_be_added_is_said():
    lines = shown(220)
    assert [line.split()[0] for line in lines[1 : len(tp.policy_names()) + 1]] == overview()["name"]
    assert lines[-3] == ""
    assert "round-robin+ols" in lines[-2]
    assert "reduce:lucb" in lines[-1]


def test_json():
    assert json.loads("".join(shown(80, "--json"))) == overview().to_dicts()
