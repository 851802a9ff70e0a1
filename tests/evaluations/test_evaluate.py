"""`tp.evaluate` and its runner: parallel, with retries, and never paying twice for an answer."""

import asyncio
import json
import re
import threading

import pytest

import tideproof as tp
from tideproof.errors import InputError
from tideproof.evaluations.answer_file import Answer, AnswerFile

SKILL = {"small": 0.3, "medium": 0.5, "large": 0.8}


def answers(model, item):
    """Return whether a deterministic fake model solves an item."""
    return float((item * 7 + len(model)) % 10 < 10 * SKILL[model])


def test_the_best_model_is_found_with_a_part_of_the_calls():
    called = []

    def score(model, item):
        called.append((model, item))
        return answers(model, item)

    found = tp.evaluate(list(SKILL), range(100), score, confidence=0.95)
    assert (found.best, found.sure) == ("large", True)
    assert len(called) == len(set(called)) == found.answered == found.counts.calls < 200
    assert "confirmed as the best" in repr(found)
    assert found.models["model"][0] == "large"


def test_all_pairs_give_the_accuracies():
    found = tp.evaluate(list(SKILL), range(50), answers)
    means = dict(zip(found.models["model"], found.models["mean"], strict=True))
    accuracies = {model: sum(answers(model, item) for item in range(50)) / 50 for model in SKILL}
    assert means == pytest.approx(accuracies, abs=1e-6)
    assert found.answered == found.pairs == 150
    assert {row["arm"]: row["mean"] for row in found.experiment.fit().arms} == pytest.approx(
        accuracies, abs=1e-15
    )


def test_models_and_items_may_be_objects_and_scores_have_a_cost():
    models = {"a": 0.25, "b": 0.75}
    items = [{"id": "q1", "level": 0.5}, {"id": "q2", "level": 0.1}, {"id": "q3", "level": 0.9}]

    def score(model, item):
        return {"score": float(model > item["level"]), "cost": 0.5}

    found = tp.evaluate(models, items, score, budget=4)
    assert (found.answered, found.counts.cost) == (4, 2.0)
    assert "cost 2" in found.spent


def test_coroutines_run_at_the_same_time_in_one_loop():
    loops, running, most = set(), [0], [0]

    async def score(model, item):
        loops.add(id(asyncio.get_running_loop()))
        running[0] += 1
        most[0] = max(most[0], running[0])
        await asyncio.sleep(0.01)
        running[0] -= 1
        return answers(model, item)

    found = tp.evaluate(list(SKILL), range(20), score, workers=6)
    assert (found.answered, len(loops)) == (60, 1)
    assert 1 < most[0] <= 6


def test_failed_calls_are_repeated_and_a_pair_that_always_fails_has_no_score():
    lock, tries = threading.Lock(), {}

    def score(model, item):
        with lock:
            tries[model, item] = tries.get((model, item), 0) + 1
        if item == 3 and model == "small":
            raise RuntimeError("no connection")
        if item % 4 == 0 and tries[model, item] == 1:
            raise TimeoutError("once")
        return answers(model, item)

    from tideproof.evaluations.evaluation_runner import EvaluationRunner

    run = tp.Experiment(list(SKILL), environments=range(12))
    counts = EvaluationRunner(run, score, retries=2, workers=3, first_wait=0.001).play()
    assert counts.failed == [("small", 3, "RuntimeError: no connection")]
    assert (counts.calls, tries["small", 3], counts.retries) == (35, 3, 9 + 2)
    assert sorted(set(run.history()["status"])) == ["cancelled", "told"]
    assert run.done


@pytest.mark.parametrize("value", [float("nan"), "0.5", None, {"points": 1}, {"score": 1, "cost": "much"}])
def test_scores_that_are_not_numbers_are_failures(value):
    with pytest.raises(InputError, match="the first 10 calls failed, the last one for model"):
        tp.evaluate(["a", "b"], range(20), lambda model, item: value, retries=0)


def test_a_second_call_continues_with_a_larger_budget(tmp_path):
    url, called = f"sqlite:///{tmp_path}/evals.db", []

    def score(model, item):
        called.append((model, item))
        return answers(model, item)

    options = {"store": url, "answers": tmp_path / "answers.jsonl", "workers": 1}
    first = tp.evaluate(list(SKILL), range(40), score, budget=30, **options)
    again = tp.evaluate(list(SKILL), range(40), score, budget=30, **options)
    assert repr(first) == repr(again)
    more = tp.evaluate(list(SKILL), range(40), score, budget=0.5, **options)
    assert (first.answered, more.answered, len(called), len(set(called))) == (30, 60, 60, 60)
    with pytest.raises(InputError, match="other environments"):
        tp.evaluate(list(SKILL), range(41), score, budget=30, **options)


def test_answers_in_the_file_are_used_instead_of_calls(tmp_path):
    path = tmp_path / "answers.jsonl"
    file = AnswerFile(path)
    file.add("a", 1, Answer(0.5, 2.0))
    with pytest.raises(InputError, match="another process runs this evaluation"):
        AnswerFile(path)
    file.close()
    with path.open("a") as torn:
        torn.write('{"model": "a", "item": 2, "sc')  # a crash in the middle of a line
    called = []
    found = tp.evaluate(["a", "b"], [1, 2], lambda *pair: called.append(pair) or 1.0, answers=path, workers=1)
    assert sorted(called) == [("a", 2), ("b", 1), ("b", 2)]
    assert (found.counts.reused, found.counts.cost) == (1, 2.0)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert (rows[0]["model"], rows[0]["item"]) == ("a", 1)
    assert len(rows) == 4
    path.write_text("hello\n")
    with pytest.raises(InputError, match=r"line 1 of .* is not an answer"):
        AnswerFile(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": "ab"}, "models must be several names"),
        ({"models": ["a"]}, "at least two arms"),
        ({"items": "ab"}, "items must be several items"),
        ({"items": []}, "at least one label"),
        ({"items": [{"name": 1}]}, "item 1 has no 'id', but 'name'"),
        ({"items": [1, 1]}, "more than once: 1"),
        ({"score": 3}, "score must be a function"),
        ({"budget": 0}, "budget must be a whole number of at least 1"),
        ({"budget": 1.5}, "a share between 0 and 1"),
        ({"workers": 0}, "workers must be a whole number from 1"),
        ({"tolerance": 0.1}, "tolerance=0.1 requires confidence"),
        ({"answers": "/nowhere/answers.jsonl"}, "answers cannot be written"),
    ],
)
def test_invalid_arguments_get_one_message(changes, message):
    given = {"models": ["a", "b"], "items": [1, 2], "score": lambda model, item: 1.0} | changes
    with pytest.raises(InputError, match=message):
        tp.evaluate(**given)


def test_an_interrupt_leaves_the_pulls_pending(tmp_path):
    url, called = f"sqlite:///{tmp_path}/evals.db", []

    def score(model, item):
        called.append((model, item))
        return 1.0

    def interrupt(counts):
        if counts.calls == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tp.evaluate(["a", "b"], range(10), score, store=url, workers=2, report=interrupt)
    found = tp.evaluate(["a", "b"], range(10), score, store=url, workers=2)
    assert found.answered == 20
    assert len(called) <= 22  # at most the two calls that were running are repeated


@pytest.mark.parametrize(
    ("options", "first", "last"),
    [
        ({"budget": 90}, r"\w leads", r"c leads by 0\.\d+"),
        ({"confidence": 0.95}, r"\w leads, 3 of 3 models left", r"c is the best \(confidence 0.95\)"),
    ],
)
def test_progress_says_who_leads_and_how_certain_that_is(options, first, last):
    texts = []
    skill = {"a": 0.1, "b": 0.3, "c": 0.9}
    tp.evaluate(
        skill,
        range(100),
        lambda share, item: float((item * 37) % 100 < 100 * share),
        workers=1,
        report=lambda counts: texts.append(counts.leader),
        **options,
    )
    assert re.fullmatch(first, texts[0])
    assert re.fullmatch(last, texts[-1])
    assert "confidence" in options or not any("left" in text for text in texts)
    assert "budget" in options or "c leads, 2 of 3 models left" in texts
