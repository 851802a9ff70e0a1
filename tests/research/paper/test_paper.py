"""tideproof reproduce: verdicts follow the intervals, panels run once, stopping changes no byte."""

from __future__ import annotations

import csv
import math
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import tideproof as tp
from tideproof.cli import main
from tideproof.lab.share_intervals import binomial, paired
from tideproof.research.paper.claim_verdicts import FAMILY, Claim, ClaimPart, judge
from tideproof.research.paper.claims import CLAIMS
from tideproof.research.paper.claims_ledger import claim_table, markdown, summary
from tideproof.research.paper.elimination_variants import ALL_REWARDS as ALL
from tideproof.research.paper.elimination_variants import HALVES as HALVES_AT_ONCE
from tideproof.research.paper.elimination_variants import LAST_PHASE, LOST, elimination
from tideproof.research.paper.elimination_variants import ONE_AT_A_TIME as ONE
from tideproof.research.paper.figure_entries import FIGURES, SIXTEEN
from tideproof.research.paper.growing_designs import HALVES, exact_variances, fixed_designs
from tideproof.research.paper.measurement_intervals import (
    Comparison,
    KeptSelections,
    Measurement,
    difference_across_worlds,
    difference_to_ser3,
    mean_with_interval,
    measure,
    paired_difference,
    paired_log_ratio,
    paired_selection_difference,
    paired_sum,
)
from tideproof.research.paper.panel_simulation import missing_panels, run_panels
from tideproof.research.paper.panels import LINLUCB, ROUND_ROBIN, contrast_panel_name, panels, ser3_panel_name
from tideproof.research.paper.side_studies import SIDE_STUDIES
from tideproof.stats.cells import Cells
from tideproof.stats.solve.least_squares import laplacian_matrix

pytest.importorskip("numba")

HERE = tp.mdm(3)


def part(*intervals, side="below", bar=0.0, **words):
    rows = [
        Comparison(f"at {i}", Measurement((low + high) / 2, low, high))
        for i, (low, high) in enumerate(intervals)
    ]
    return ClaimPart("a part", rows, side, bar, **words)


FOR, AGAINST, OPEN = (-2, -1), (1, 2), (-1, 1)


@pytest.mark.parametrize(
    ("intervals", "outcome"),
    [
        ([FOR, FOR], "holds"),
        ([FOR, OPEN], "holds"),
        ([FOR, OPEN, OPEN], "not decided"),
        ([OPEN], "not decided"),
        ([FOR, AGAINST], "holds in part"),
        ([AGAINST, OPEN], "does not hold"),
        ([], "not decided"),
    ],
)
def test_a_part_is_what_its_intervals_say(intervals, outcome):
    assert part(*intervals).outcome == outcome
    mirrored = [(-high, -low) for low, high in intervals]
    assert part(*mirrored, side="above").outcome == outcome
    moved = [(low + 5, high + 5) for low, high in intervals]
    assert part(*moved, bar=5.0).outcome == outcome


@pytest.mark.parametrize(
    ("intervals", "outcome"),
    [
        ([FOR, AGAINST, AGAINST], "holds"),
        ([OPEN, AGAINST], "not decided"),
        ([AGAINST, AGAINST], "does not hold"),
        ([], "not decided"),
    ],
)
def test_some_needs_only_one(intervals, outcome):
    assert part(*intervals, some=True).outcome == outcome


@pytest.mark.parametrize(
    ("intervals", "outcome"),
    [
        ([FOR, FOR, FOR, AGAINST], "does not hold"),
        ([FOR, OPEN], "holds"),
        ([FOR, OPEN, OPEN], "not decided"),
        ([], "not decided"),
    ],
)
def test_one_counterexample_refutes_what_is_said_of_all(intervals, outcome):
    refuted = part(*intervals, universal=True)
    assert refuted.outcome == outcome
    claim = Claim("name", "says", "1", (), lambda found, level: [refuted], "how")
    assert judge(claim, {}).verdict == outcome
    assert claim_table([judge(claim, {})])["wanted"] == ["all below 0"] * len(intervals)


def test_an_interval_that_touches_the_bar_or_is_no_number_is_open():
    assert part((-1.0, 0.0)).counts == {"for": 0, "against": 0, "open": 1}
    assert part((math.nan, math.nan)).counts["open"] == 1


HOLDS, FAILS, UNSURE, MIXED = part(FOR), part(AGAINST), part(OPEN), part(FOR, AGAINST)


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([HOLDS, HOLDS], "holds"),
        ([HOLDS, UNSURE], "holds in part"),
        ([HOLDS, FAILS], "holds in part"),
        ([MIXED], "holds in part"),
        ([FAILS, FAILS], "does not hold"),
        ([FAILS, UNSURE], "does not hold"),
        ([UNSURE, UNSURE], "not decided"),
    ],
)
def test_a_claim_is_what_its_parts_say(parts, verdict):
    claim = Claim("name", "says", "1", (), lambda found, level: parts, "how")
    judged = judge(claim, {})
    assert judged.verdict == verdict
    comparisons = sum(len(each.comparisons) for each in parts)
    assert comparisons * (1 - judged.level) == pytest.approx(1 - FAMILY)
    table = claim_table([judged])
    assert table["says"] == [each.says(one) for each in parts for one in each.comparisons]
    assert f"| [name](#name) | {verdict} |" in markdown([judged], {"seed": 1})
    assert summary([judged]).startswith("1 claim: 1 ")
    assert summary([]).startswith("no claim can be checked")


@pytest.fixture(scope="module")
def study():
    return tp.simulate(
        HERE,
        [tp.policy("linlucb", label=LINLUCB), tp.policy("round-robin", label=ROUND_ROBIN)],
        [20, 40, 80],
        replications=2000,
        seed=3,
    )


def test_paired_rows_are_those_of_the_study(study):
    rows = paired_difference(study, LINLUCB, ROUND_ROBIN, [40, 80], "eoc", 0.99)
    expected = study.difference(LINLUCB, ROUND_ROBIN, "eoc", 0.99)
    assert [row.where for row in rows] == ["40 pulls", "80 pulls"]
    assert [row.measured.low for row in rows] == list(expected.low[1:])
    assert [row.measured.high for row in rows] == list(expected.high[1:])


def test_an_unpaired_difference_holds_both_exact_intervals(study):
    other = tp.simulate(tp.mdm(3, "worst-case"), [tp.policy("linlucb", label=LINLUCB)], [40], 2000, 3)
    (row,) = difference_across_worlds(study, other, LINLUCB, [40], 0.99)
    wrong = [round(each.pics(LINLUCB)[each.budgets.index(40)] * 2000) for each in (study, other)]
    ends = [binomial(np.array([count]), 2000, 0.995) for count in wrong]
    assert row.measured.low == pytest.approx(ends[0].low[0] - ends[1].high[0])
    assert row.measured.high == pytest.approx(ends[0].high[0] - ends[1].low[0])


def test_no_error_seen_still_bounds_the_opportunity_cost(study):
    never = replace(study, tally=study.tally._replace(chosen=study.tally.chosen * 0 + np.array([0, 0, 2000])))
    reading = measure(never, LINLUCB, 40, "eoc", 0.95)
    assert reading.estimate == 0.0
    assert reading.high == pytest.approx(HERE.gaps.max() * binomial(np.array([0]), 2000, 0.95).high[0])


def test_ser3_is_compared_with_the_budgets_around_its_samples(study):
    sweep = tp.simulate(
        HERE,
        [tp.policy("ser3", label=str(log), log_inverse_delta=float(log)) for log in (2, 400)],
        [20_000],
        replications=300,
        seed=3,
    )
    samples = float(sweep.samples("2")[0])
    assert 20 < samples < 80 < sweep.samples("400")[0]  # the second is beyond the budgets: left out
    (row,) = difference_to_ser3(study, ROUND_ROBIN, sweep, "pics", 0.99)
    below, above = (20, 40) if samples < 40 else (40, 80)
    each = 1 - 0.01 / 3
    other = measure(sweep, "2", 20_000, "pics", each)
    less, more = (measure(study, ROUND_ROBIN, budget, "pics", each).minus(other) for budget in (below, above))
    share = (samples - below) / (above - below)
    logs = [
        math.log(float(study.pics(ROUND_ROBIN)[study.budgets.index(budget)])) for budget in (below, above)
    ]
    line = math.exp(logs[0] + share * (logs[1] - logs[0])) - other.estimate
    assert row.measured == pytest.approx((line, min(less.low, more.low), max(less.high, more.high)))
    assert row.where == f"{samples:.0f} samples of SER3, {ROUND_ROBIN} at {below} and {above}"


def kept(*wrong):
    """Return kept selections with these errors, replication by replication, as of one study."""
    selected = np.where(np.array(wrong, bool), 0, 2).astype(np.int16)[:, None]
    study = tp.simulate(HERE, ["round-robin"], [20], len(wrong[0]), keep=20)
    recipes = tuple(study.recipes[0]._replace(label=str(i)) for i in range(len(wrong)))
    study = replace(study, recipes=recipes, tally=study.tally._replace(selected=selected))
    return [KeptSelections(study, str(i), 20) for i in range(len(wrong))]


def test_kept_selections_are_paired():
    random = np.random.default_rng(5)
    a, b = random.random((2, 400)) < 0.3
    first, second = kept(a, b)
    found = paired_selection_difference(first, second, 0.99)
    ends = paired(np.array([(a & ~b).sum()]), np.array([(b & ~a).sum()]), 400, 0.99)
    assert found == pytest.approx(((a.mean() - b.mean()), ends.low[0], ends.high[0]))


def test_a_sum_of_kept_selections_against_its_definition():
    """The mean of the sum over replications; far from few errors its interval is the normal one."""
    wrong = np.random.default_rng(6).random((4, 20_000)) < np.array([0.3, 0.25, 0.4, 0.1])[:, None]
    weights = (1.0, -1.0, -0.5, 0.5)
    found = paired_sum(zip(weights, kept(*wrong), strict=True), 0.99)
    total = np.array(weights) @ wrong
    assert found.estimate == pytest.approx(total.mean())
    reach = 2.5758293 * total.std() / math.sqrt(20_000)
    assert (found.low, found.high) == pytest.approx((total.mean() - reach, total.mean() + reach), abs=2e-4)


def test_the_interval_of_rare_differences_is_honest():
    """Its two ends miss at most as often as they say: exactly, over all counts of a Poisson number."""
    n, level = 100_000, 0.9999
    counts = np.arange(400)
    found = [mean_with_interval(np.r_[np.ones(k), np.zeros(n - k)], 1.0, level) for k in counts]
    for rate in (0.5, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0):
        missed = [not one.low <= rate / n <= one.high for one in found]
        assert stats.poisson.pmf(counts, rate)[missed].sum() <= 1.0 - level


def test_a_ratio_of_kept_selections():
    """Its estimate, and its interval against a bootstrap over replications."""
    random = np.random.default_rng(7)
    common = random.random(20_000)
    wrong = common < np.array([0.2, 0.1, 0.15, 0.05])[:, None]  # nested: all of them dependent
    wrong ^= random.random(wrong.shape) < 0.02
    weights = np.array([1.0, -1.0, -1.0, 1.0])
    found = paired_log_ratio(zip(weights, kept(*wrong), strict=True), 0.95)
    assert found.estimate == pytest.approx(math.exp(weights @ np.log(wrong.mean(axis=1))))
    drawn = [wrong[:, random.integers(0, 20_000, 20_000)].mean(axis=1) for _ in range(400)]
    spread = np.std([weights @ np.log(rates) for rates in drawn])
    half = math.log(found.high / found.low) / 2
    assert half == pytest.approx(
        1.96 * spread, rel=0.15
    )  # 0.15 is over four standard errors of the bootstrap
    few = paired_log_ratio(zip((1.0, -1.0), kept(wrong[0], np.arange(20_000) < 24), strict=True), 0.95)
    assert (few.low, few.high) == (0.0, math.inf)


def test_the_interval_of_a_ratio_is_honest_where_errors_are_few():
    """A rare error over a common one: it misses at most as often as it says, over all Poisson counts."""
    n, level = 4000, 0.9999
    common = np.arange(n) % 2 == 0
    counts = np.arange(25, 400)
    found = []
    for k in counts:
        rare = np.zeros(n, bool)
        rare[:k] = True  # half of them where the other errs too
        found.append(paired_log_ratio(zip((1.0, -1.0), kept(rare, common), strict=True), level))
    for rate in (60.0, 100.0, 200.0):
        truth = rate / n / 0.5
        missed = [not one.low <= truth <= one.high for one in found]
        assert stats.poisson.pmf(counts, rate)[missed].sum() <= 1.0 - level
    same = paired_log_ratio(zip((1.0, -1.0), kept(common, common), strict=True), level)
    assert same.low < 1.0 < same.high


def test_elimination_played_apart_agrees_with_the_lab():
    """PSS(2) and SR, written twice: their errors are two binomials. False alarms: 1e-6 in each of four."""
    rows = {(row["policy"], row["quantity"], row["budget"]): row for row in elimination(1, 20_000)}
    lab = tp.simulate(tp.mdm(5), ["pss", "successive-rejects"], [100, 200], 20_000, seed=5)
    for label, name in (("pss", f"{HALVES_AT_ONCE}, {LAST_PHASE}"), ("successive-rejects", f"{ONE}, {ALL}")):
        for at, budget in enumerate((100, 200)):
            row = rows[name, LOST, budget]
            both = (row["events"] + lab.errors(label)[at]) / 40_000
            apart = row["events"] / 20_000 - lab.pics(label)[at]
            assert abs(apart) < 4.9 * math.sqrt(both * (1 - both) * 2 / 20_000)


def test_questions_of_ours_are_not_counted_as_the_papers():
    def claim(ours):
        return judge(Claim("name", "says", "4", (), lambda found, level: [HOLDS], "how", ours), {})

    assert (
        summary([claim(True), claim(False)])
        == "1 claim: 1 holds; in addition, 1 question that the paper does not ask"
    )
    assert "(our question on section 4)" in markdown([claim(True)], {})
    assert "(section 4)" in markdown([claim(False)], {})


def test_ratios_survive_zeros():
    some, none = Measurement(0.2, 0.1, 0.3), Measurement(0.0, 0.0, 0.0)
    assert some.over(Measurement(0.4, 0.2, 0.5)) == pytest.approx((0.5, 0.2, 1.5))
    assert some.over(none) == (math.inf, math.inf, math.inf)
    assert math.isnan(none.over(none).estimate)


def test_every_need_is_a_panel_or_a_side_study():
    known = panels().keys() | SIDE_STUDIES.keys()
    everything: list[Any] = [*FIGURES, *CLAIMS]
    for entry in everything:
        assert set(entry.needs) <= known, entry.name
    names = [claim.name for claim in CLAIMS]
    assert len(names) == len(set(names))


def test_the_sixteen_panels_are_those_of_the_paper():
    assert len(SIXTEEN) == 16
    for name in SIXTEEN:
        means, arms, scenario = name.split("-", 2)
        panel = panels()[name]
        assert panel.world == {"mdm": tp.mdm, "sc": tp.slippage}[means](int(arms), scenario)
        assert panel.budgets[-1] == 100 * int(arms)
        assert panels()[ser3_panel_name(name)].world == panel.world
        assert panels()[contrast_panel_name(name)].world == panel.world
        still = panels()[contrast_panel_name(f"{means}-{arms}-stationary")]
        assert still.world.means == panel.world.means
        assert isinstance(still.world.shifts, tp.worlds.NoShift)
        assert still.budgets == panels()[contrast_panel_name(name)].budgets
    assert panels()["existing"].budgets[-1] == 1000


def test_the_name_of_a_kept_panel_tells_all_that_decides_its_numbers():
    panel = panels()["two-arms"]
    changed = [
        panel.file_name(10, 2),
        panel.file_name(11, 1),
        panel.file_name(10, 1, "cuda"),
        replace(panel, budgets=(20, 40)).file_name(10, 1),
        replace(panel, policies=panel.policies[:1]).file_name(10, 1),
        replace(panel, world=tp.mdm(2, "general")).file_name(10, 1),
    ]
    assert len({panel.file_name(10, 1), *changed}) == 7
    assert panel.file_name(10, 1) == replace(panel, title="other words").file_name(10, 1)


def test_a_finished_panel_is_not_run_again_unless_damaged(tmp_path, monkeypatch):
    wanted = [panels()["two-arms"]]
    assert missing_panels(wanted, 50, 1, tmp_path) == wanted
    first = run_panels(wanted, 50, 1, tmp_path)["two-arms"]
    (kept,) = (tmp_path / "panels").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr("tideproof.research.paper.panel_simulation.simulate", None)
        again = run_panels(wanted, 50, 1, tmp_path)["two-arms"]
    assert again.table() == first.table()
    assert missing_panels(wanted, 50, 1, tmp_path) == []
    assert missing_panels(wanted, 51, 1, tmp_path) == wanted
    kept.write_text(kept.read_text()[:100])
    assert run_panels(wanted, 50, 1, tmp_path)["two-arms"].table() == first.table()
    assert tp.Study.load(kept).table() == first.table()


def test_an_interrupted_panel_is_not_kept(tmp_path, monkeypatch):
    def stopped(*args):
        return replace(tp.simulate(HERE, "round-robin", [10], 5), interrupted=True)

    monkeypatch.setattr("tideproof.research.paper.panel_simulation.simulate", stopped)
    with pytest.raises(KeyboardInterrupt):
        run_panels([panels()["two-arms"]], 50, 1, tmp_path)
    assert not list((tmp_path / "panels").iterdir())


def reproduce(*words):
    command = [sys.executable, "-m", "tideproof.cli", "reproduce", *words, "--no-progress"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **pipes, preexec_fn=listen)


def listen():
    """Let the process hear Ctrl-C also where the tests run in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def data(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.csv")}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Figure 5 and the theory, uninterrupted."""
    folder = tmp_path_factory.mktemp("reproduction")
    run = reproduce("fig1", "fig3", "fig5", "theorem1", "--replications", "40", "--out", str(folder))
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, err
    return folder, out


def test_interrupted_and_run_again_gives_the_same_bytes(made, tmp_path):
    words = ("fig1", "fig5", "--replications", "40", "--out", str(tmp_path))  # other figures keep no panels
    run = reproduce(*words)
    kept = tmp_path / "panels"
    deadline = time.monotonic() + 200
    while not (kept.is_dir() and len(list(kept.glob("*.json"))) >= 2):
        assert time.monotonic() < deadline
        assert run.poll() is None
        time.sleep(0.002)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=100)
    assert run.returncode == 130, err
    assert "the same command" in err
    assert not list(tmp_path.glob("*.csv"))
    before = {path.name: path.stat().st_mtime_ns for path in kept.glob("[!.]*.json")}
    again = reproduce(*words)
    _, err = again.communicate(timeout=300)
    assert again.returncode == 0, err
    found, whole = data(tmp_path), data(made[0])
    claims = found.pop("claims.csv").splitlines()
    assert len(claims) > 10
    assert set(claims) <= set(whole["claims.csv"].splitlines())
    assert found == {name: whole[name] for name in ("fig1.csv", "fig5.csv")}
    after = {path.name: path.stat().st_mtime_ns for path in kept.iterdir()}
    assert before.items() <= after.items()


def test_a_picture_has_its_data_beside_it(made):
    folder, _ = made
    with open(folder / "fig5.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["panel", "policy", "samples", "errors", "pics", "low", "high"]
    kept = next((folder / "panels").glob("mdm-5-general-*.json"))
    study = tp.Study.load(kept)
    mine = [float(r["pics"]) for r in rows if r["panel"] == "mdm-5-general" and r["policy"] == LINLUCB]
    assert mine == list(study.pics(LINLUCB))
    for name in ("fig1", "fig3", "fig5", "theorem1"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (folder / f"{name}.svg").read_text(encoding="utf-8").rstrip().endswith("</svg>")


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("src", "href")]
        assert tag not in ("script", "link", "iframe")


def test_the_page_needs_nothing_else(made):
    folder, out = made
    page = (folder / "index.html").read_text(encoding="utf-8")
    links = Links()
    links.feed(page)
    assert links.found
    for link in links.found:
        assert link.startswith("data:image/svg+xml;base64,") or (folder / link).is_file(), link[:80]
    assert "url(" not in page
    judged = [claim for claim in CLAIMS if f'id="{claim.name}"' in page]
    names = {claim.name for claim in judged}
    assert {"variance-too-small", "gaps-smaller-when-long", "conjecture"} & names
    assert "linlucb-16-pics" not in names  # its panels were not asked for
    for claim in judged:
        assert re.search(
            rf"^(holds|holds in part|does not hold|not decided) +{claim.name}$", out, re.MULTILINE
        )
        assert f"## {claim.name}\n" in (folder / "ledger.md").read_text(encoding="utf-8")


def test_files_tell_no_time_but_the_page(made):
    folder, _ = made
    for path in (*folder.glob("*.csv"), *folder.glob("*.svg")):
        assert "seconds" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fig9"], "unknown figure 'fig9'; did you mean 'fig"),
        (["--quick", "--replications", "10"], "--quick or --replications, not both"),
        (["--replications", "0"], "replications must be"),
        (["--seed", "-1"], "seed must be"),
        (["--engine", "abacus"], "unknown engine 'abacus'"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_made(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tideproof", "reproduce", *words])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    err = capsys.readouterr().err
    assert said in err
    assert not os.listdir(tmp_path)


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path, monkeypatch, capsys):
    taken = tmp_path / "taken"
    taken.write_text("")
    monkeypatch.setattr(sys, "argv", ["tideproof", "reproduce", "fig3", "--out", str(taken)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert f"cannot write to '{taken}'" in capsys.readouterr().err


def test_the_formula_of_the_gauge_is_least_squares():
    """The read-out of P against the inverse of the dense normal equations, entry by entry."""
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 4, (12, 4)).astype(float)
    counts[counts.sum(axis=1) == 0, 0] = 1.0
    counts[1] += 1.0
    environment, arm = np.nonzero(counts)
    X = np.hstack([np.eye(4)[arm], np.eye(12)[environment][:, 1:]])
    covariance = np.linalg.inv(X.T @ (counts[environment, arm][:, None] * X))
    found = exact_variances(counts, (0, 2))
    shifts = covariance[4:, 4:]
    others = shifts[~np.eye(11, dtype=bool)]
    assert found["Var(mu_1)"] == pytest.approx(covariance[0, 0])
    assert found["largest Var(mu_i)"] == pytest.approx(covariance.diagonal()[:4].max())
    assert found["Var(difference)"] == pytest.approx(
        covariance[0, 0] + covariance[2, 2] - 2 * covariance[0, 2]
    )
    assert found["Cov(s_2, s_3)"] == pytest.approx(shifts[0, 1])
    assert found["smallest Cov(s_j, s_m)"] == pytest.approx(others.min())
    assert found["largest Cov(s_j, s_m)"] == pytest.approx(others.max())
    # as printed: sigma^2 [A'(I - 2 H_B + H_B H_A H_B) A]^-1, one row for each pull
    n = counts[environment, arm].astype(int)
    A, B = np.repeat(X[:, :4], n, axis=0), np.repeat(X[:, 4:], n, axis=0)
    hat_a, hat_b = (M @ np.linalg.inv(M.T @ M) @ M.T for M in (A, B))
    printed = np.linalg.inv(A.T @ (np.eye(len(A)) - 2 * hat_b + hat_b @ hat_a @ hat_b) @ A)
    assert found["Var(mu_1), printed"] == pytest.approx(printed[0, 0])


def test_the_halves_meet_the_assumptions_of_theorem_1_and_break_its_conclusion():
    counts = fixed_designs(0)[HALVES].counts
    N, J = counts.sum(), len(counts)
    assert J**2 < 8 * N  # J grows as the root of N
    assert (counts.sum(axis=0) / N > 0.2).all()
    assert ((counts > 0).sum(axis=1) >= 2).all()  # no environment with one arm
    size = counts.sum(axis=1)
    shares = counts / size[:, None] - counts[0] / size[0]
    covariance = 1 / size[0] + shares @ np.linalg.pinv(laplacian_matrix(Cells.design(counts))) @ shares.T
    others = covariance[1:, 1:][~np.eye(J - 1, dtype=bool)]
    assert 0.1 < others.min() < others.max() < 0.5  # bounded away from 0 and from above
    assert exact_variances(counts, (0, 2))["Var(difference)"] > 0.39
    assert exact_variances(counts, (0, 1))["Var(difference)"] < 0.01


def test_the_documented_run_has_every_figure_and_judges_every_claim():
    folder = Path(__file__).parents[3] / "docs" / "paper"
    with open(folder / "claims.csv", newline="", encoding="utf-8") as file:
        assert {row["claim"] for row in csv.DictReader(file)} == {claim.name for claim in CLAIMS}
    ledger = (folder / "ledger.md").read_text(encoding="utf-8")
    for claim in CLAIMS:
        assert f"> {claim.says}\n" in ledger, "run tideproof reproduce again and copy its ledger"
    for figure in FIGURES:
        assert (folder / f"{figure.name}.csv").is_file()
        assert (folder / f"{figure.name}.png").is_file()
        assert (folder / f"{figure.name}.pdf").is_file()
