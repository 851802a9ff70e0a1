"""What a study says, shows and saves."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import tideproof as tp
from simulations import BUDGETS, POLICIES, WORLD, same
from tideproof.draw.policy_curves import log_scale_floor
from tideproof.files import check_picture_path
from tideproof.lab.budget_curves import curves


def brute_force(world, policies, budgets, replications, seed):
    """Selections (P, R, B) and pulls (P, R, B, K), replayed one by one."""
    selected = np.zeros((len(policies), replications, len(budgets)), int)
    pulls = np.zeros((*selected.shape, world.arms), int)
    for p, policy in enumerate(policies):
        for r in range(replications):
            for b, budget in enumerate(budgets):
                one = tp.replay(world, policy, seed, r, budget)
                selected[p, r, b] = one.selected
                pulls[p, r, b] = np.bincount(one.arm, minlength=world.arms)
    return selected, pulls


def test_study_against_replays():
    world = tp.World([0.0, 0.3, 0.7, 0.7], lengths=(2, 6), shifts=tp.worlds.Normal(0, 5))  # two best arms
    n, budgets = 40, (24, 40)
    study = tp.simulate(world, POLICIES, budgets, replications=n, seed=2**64 - 1)
    selected, pulls = brute_force(world, POLICIES, budgets, n, seed=2**64 - 1)
    cost = world.gaps[selected]
    wrong = ~np.isin(selected, world.best)
    for p, label in enumerate(POLICIES):
        np.testing.assert_allclose(study.pics(label), wrong[p].mean(axis=0))
        np.testing.assert_allclose(study.eoc(label), cost[p].mean(axis=0))
        np.testing.assert_allclose(study.standard_error(label), stats.sem(wrong[p].astype(float)))
        np.testing.assert_allclose(study.standard_error(label, "eoc"), stats.sem(cost[p]))
        np.testing.assert_allclose(study.pulls(label), pulls[p].mean(axis=0))
        assert study.samples(label).tolist() == list(budgets)
        assert not study.standard_error(label, "samples").any()
        assert not study.stopped(label).any()
    for (i, a), (j, b) in combinations(enumerate(POLICIES), 2):
        np.testing.assert_allclose(
            study.ratio(a, b).estimate, (wrong[i].sum(axis=0) + 0.5) / (wrong[j].sum(axis=0) + 0.5)
        )
        for of, value in (("pics", wrong.astype(float)), ("eoc", cost)):
            paired_up = value[i] - value[j]
            found, mirrored = study.difference(a, b, of), study.difference(b, a, of)
            np.testing.assert_allclose(found.estimate, paired_up.mean(axis=0), atol=1e-15)
            np.testing.assert_allclose(found.standard_error, stats.sem(paired_up), atol=1e-15)
            np.testing.assert_allclose(mirrored.low, -found.high, atol=1e-15)
    itself = study.difference("linlucb", "linlucb", "eoc")
    assert not itself.estimate.any()
    assert not itself.standard_error.any()


def test_reading_a_study_wrongly(study):
    with pytest.raises(
        tp.errors.UnknownName, match="unknown policy 'lin' in this study; did you mean 'linlucb'"
    ):
        study.pics("lin")
    with pytest.raises(tp.errors.UnknownName, match="unknown measure 'pisc'; did you mean 'pics'"):
        study.standard_error("linlucb", "pisc")
    with pytest.raises(tp.errors.UnknownName, match="unknown measure 'samples'"):
        study.difference("linlucb", "round-robin", "samples")
    with pytest.raises(
        tp.errors.InputError, match=r"confidence of intervals must be between 0 and 1, such as 0.95, not 95"
    ):
        study.interval("linlucb", confidence=95)


def test_save_and_load(study, tmp_path):
    path = tmp_path / "study.json"
    study.save(path)
    loaded = tp.Study.load(path)
    assert same(study, loaded)
    assert repr(loaded) == repr(study)
    for name in ("world", "recipes", "budgets", "replications", "seed", "interrupted", "made", "keep"):
        assert getattr(loaded, name) == getattr(study, name)
    assert set(loaded.made) == {"tideproof", "numpy", "numba", "python", "engine", "seconds"}
    again = tp.simulate(
        loaded.world,
        [tp.policy(recipe.name, label=recipe.label, **recipe.options) for recipe in loaded.recipes],
        loaded.budgets,
        loaded.replications,
        loaded.seed,
        keep=loaded.keep,
    )
    assert same(study, again)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("interrupted", [True, False])
def test_a_loaded_study_says_whether_it_was_interrupted(study, tmp_path, interrupted):
    replace(study, interrupted=interrupted).save(tmp_path / "study.json")
    loaded = tp.Study.load(tmp_path / "study.json")
    assert loaded.interrupted is interrupted
    end = ", interrupted" if interrupted else ""
    assert repr(loaded).splitlines()[0] == f"Study of 5 arms, 3,500 replications, seed 7{end}"
    assert f"seed 7{end}</p>" in loaded._repr_html_()


def test_a_study_of_one_policy_and_one_replication_survives_saving(tmp_path):
    lone = tp.simulate(WORLD, tp.policy("round-robin+ols", n0=np.int64(1)), [30], replications=1)
    assert np.isnan(lone.standard_error("round-robin+ols(n0=1)")).all()
    lone.save(tmp_path / "lone.json")
    assert same(lone, tp.Study.load(tmp_path / "lone.json"))


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": "something else"}'])
def test_loading_what_is_no_study(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(tp.errors.InputError, match="is not a saved study"):
        tp.Study.load(path)


@pytest.mark.parametrize("lost", ["policies", "budgets", "tally", "world", "seed"])
def test_loading_a_study_that_lacks_something(tmp_path, study, lost):
    path = tmp_path / "study.json"
    study.save(path)
    plain = json.loads(path.read_text())
    del plain[lost]
    path.write_text(json.dumps(plain))
    with pytest.raises(tp.errors.InputError, match=r"study.json' is damaged: parts of the study are missing"):
        tp.Study.load(path)
    path.write_text(json.dumps({"version": "4"}))
    with pytest.raises(tp.errors.InputError, match="is not a saved study"):
        tp.Study.load(path)


def test_loading_a_study_of_a_damaged_world(tmp_path, study):
    path = tmp_path / "study.json"
    study.save(path)
    plain = json.loads(path.read_text())
    del plain["world"]["shifts"]["low"]
    path.write_text(json.dumps(plain))
    with pytest.raises(tp.errors.InputError, match=r"study.json' is damaged: Uniform needs 'low'"):
        tp.Study.load(path)


@pytest.mark.parametrize("version", [1, 3, 99, "4"])
def test_a_study_of_another_version_is_refused(tmp_path, study, version):
    path = tmp_path / "study.json"
    study.save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": version}))
    with pytest.raises(
        tp.errors.InputError, match=f"has version {version!r} of .* reads only version 4: repeat"
    ):
        tp.Study.load(path)


def test_loading_nothing(tmp_path):
    with pytest.raises(tp.errors.InputError, match=r"cannot read .*none.json': there is no such file"):
        tp.Study.load(tmp_path / "none.json")


def test_selections_that_are_kept(tmp_path):
    """Those of every replication, as replays select; also from several chunks and from a file."""
    world, budgets, n = tp.World([0.0, 0.3, 0.7, 0.7], lengths=(2, 6)), (24, 33, 40), 40
    study = tp.simulate(world, POLICIES, budgets, n, seed=3, keep=(24, 40))
    selected, _ = brute_force(world, POLICIES, budgets, n, seed=3)
    study.save(tmp_path / "study.json")
    for each in (study, tp.Study.load(tmp_path / "study.json")):
        for p, label in enumerate(POLICIES):
            for budget, b in ((24, 0), (40, 2)):
                assert each.selected(label, budget).tolist() == selected[p, :, b].tolist()
                assert each.wrong(label, budget).tolist() == (selected[p, :, b] < 2).tolist()
    with pytest.raises(
        tp.errors.InputError, match=r"selections at budget 33 were not kept \(kept budgets: 24 and 40\)"
    ):
        study.wrong("linlucb", 33)
    with pytest.raises(tp.errors.InputError, match=r"24, 33 and 40.*not 25"):
        tp.simulate(world, POLICIES, budgets, n, keep=25)
    long = tp.simulate(world, "round-robin", 30, 2500, seed=3, keep=30)
    assert long.wrong("round-robin", 30).sum() == long.errors("round-robin")[0]
    assert long.tally.selected.shape == (1, 1, 2500)


def test_a_study_whose_selections_are_damaged(tmp_path):
    path = tmp_path / "study.json"
    tp.simulate(WORLD, "round-robin", 30, 50, keep=30).save(path)
    plain = json.loads(path.read_text())
    for text in ("", "AAAA", plain["selected"][:-8]):
        path.write_text(json.dumps(plain | {"selected": text}))
        with pytest.raises(tp.errors.InputError, match="is damaged: the selected arms cannot be read"):
            tp.Study.load(path)


NO_ARM = base64.b64encode(zlib.compress(np.full(50, -1, "<i2").tobytes())).decode()
DAMAGED = [
    ({"replications": -1}, "replications must be a whole number of at least 1, not -1"),
    ({"budgets": ["30"]}, "a budget must be a whole number of at least 1, not '30'"),
    ({"budgets": [30, 40]}, "parts of the study are missing"),
    ({"keep": [31]}, "parts of the study are missing"),
    ({"selected": NO_ARM}, "the selected arms cannot be read"),
]


@pytest.mark.parametrize(("change", "message"), DAMAGED)
def test_a_study_whose_parts_do_not_fit_each_other(tmp_path, change, message):
    path = tmp_path / "study.json"
    tp.simulate(WORLD, "round-robin", 30, 50, keep=30).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(tp.errors.InputError, match=f"study.json' is damaged: {message}"):
        tp.Study.load(path)


def test_a_study_whose_sums_or_selections_are_others(tmp_path):
    path = tmp_path / "study.json"
    tp.simulate(WORLD, "round-robin", 30, 50, keep=30).save(path)
    plain = json.loads(path.read_text())
    tally = plain["tally"]
    for change, message in (
        ({"chosen": [[[0, 0, 0, 0, 50]]]}, "the selected arms do not agree"),
        ({"chosen": [[[50]]]}, "parts of the study are missing"),
        ({"samples": [[1, 2]]}, "parts of the study are missing"),
        ({"pulls": "many"}, "parts of the study are missing"),
    ):
        path.write_text(json.dumps(plain | {"tally": tally | change}))
        with pytest.raises(tp.errors.InputError, match=f"study.json' is damaged: {message}"):
            tp.Study.load(path)


def test_what_is_done_to_selections_leaves_the_study_alone():
    study = tp.simulate(WORLD, "round-robin", 30, 50, keep=30)
    study.selected("round-robin", 30)[:] = 0
    assert study.wrong("round-robin", 30).sum() == study.errors("round-robin")[0] < 50


def test_table_and_repr(study):
    table = study.table()
    assert len(table) == len(POLICIES) * len(BUDGETS)
    assert table["pics"][:3] == study.pics("linlucb").tolist()
    assert repr(study).startswith("Study of 5 arms, 3,500 replications, seed 7\npolicy")
    assert "<table>" in study._repr_html_()


def test_curves_are_data_first(study):
    drawn = curves(study, "pics", 0.95)
    assert [curve.label for curve in drawn] == POLICIES
    assert np.array_equal(drawn[0].value, study.pics("linlucb"))
    assert (drawn[0].low < drawn[0].value).all()
    nothing = [
        curve._replace(value=curve.value * 0, low=curve.low * 0, high=curve.high * 0) for curve in drawn
    ]
    assert log_scale_floor(nothing) == 0.1
    assert 0 < log_scale_floor(drawn) < min(curve.value.min() for curve in drawn)


@pytest.mark.parametrize("of", ["pics", "eoc", "samples"])
@pytest.mark.parametrize("log", [True, False])
def test_plots_are_saved(study, tmp_path, of, log):
    pytest.importorskip("matplotlib")
    path = tmp_path / ("picture.png" if log else "picture.svg")
    figure = study.plot(path, measure=of, log=log)
    assert path.stat().st_size > 5000
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == POLICIES


def test_zeros_on_a_log_scale_are_hollow_and_on_the_edge(study, tmp_path):
    pytest.importorskip("matplotlib")
    never = replace(study, tally=study.tally._replace(chosen=study.tally.chosen * [0, 0, 0, 0, 1]))
    axes = never.plot(tmp_path / "zero.png").axes[0]
    assert "hollow markers: 0" in axes.get_title("right")
    assert np.isfinite(axes.get_ylim()).all()


def test_pictures_that_cannot_be_made(monkeypatch):
    with pytest.raises(tp.errors.InputError, match=r"must end in .png, .svg, .pdf; 'a.docx' does not"):
        check_picture_path("a.docx")
    monkeypatch.setattr("tideproof.files.find_spec", lambda name: None)
    with pytest.raises(tp.errors.MissingExtra, match=r"pip install 'tideproof\[plot\]'"):
        check_picture_path(None)
