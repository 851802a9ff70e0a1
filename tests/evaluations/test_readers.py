"""Each reader on logs that its tool wrote (`logs/`), or on minimal logs made from its schema."""

import json
import struct
import zipfile
from pathlib import Path

import pytest

import tideproof as tp
from tideproof.errors import InputError, MissingExtra
from tideproof.evaluations.log_reading import is_evaluation_log
from tideproof.evaluations.readers import log_file
from tideproof.evaluations.readers.format_registry import FORMATS, detect_format
from tideproof.evaluations.readers.log_file import LogFile
from tideproof.evaluations.readers.log_row import read_score

LOGS = Path(__file__).parent / "logs"
SMALL, LARGE = LOGS / "inspect_small.eval", LOGS / "inspect_large.eval"


def write(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def rows(log, *names):
    return list(zip(*(log[name] for name in names), strict=True))


# -- Inspect


def test_inspect_archives_with_zstandard():
    with zipfile.ZipFile(SMALL) as archive:
        assert {info.compress_type for info in archive.infolist()} == {93}
    log = tp.read_evals([SMALL, LARGE], group="passage")
    assert log.models == ["mockllm/small", "mockllm/large"]
    assert log.columns == [
        "model", "item", "sample", "group", "task", "score", "tokens", "seconds", "error",
    ]  # fmt: skip
    assert log.counts.to_dicts() == [
        {"model": f"mockllm/{name}", "scores": 15, "errors": 1, "unscored": 0} for name in ("small", "large")
    ]
    failed = [row for row in log if row["score"] is None]
    assert {(row["item"], row["sample"], row["group"]) for row in failed} == {("q3", 1, "p1")}
    assert {row["error"] for row in failed} == {"RuntimeError('the provider failed')"}
    # every third answer of the small model is wrong, every fifth of the large one
    fit = tp.fit(log)
    assert fit.arms["raw_mean"] == [10 / 15, 12 / 15]
    assert any(note.startswith("Not analyzed, and not counted as 0: 2 errors") for note in fit.notes)


def test_the_scores_are_those_that_inspect_reports():
    """The archive contains the accuracy, over epochs that Inspect reduced to their mean."""
    log = tp.read_evals(SMALL)
    reported = LogFile(SMALL).member("header.json")["results"]["scores"][0]["metrics"]["accuracy"]["value"]
    items = {}
    for item, score in rows(log, "item", "score"):
        if score is not None:
            items.setdefault(item, []).append(score)
    assert sum(sum(s) / len(s) for s in items.values()) / len(items) == pytest.approx(reported)


def test_old_inspect_logs_are_json():
    log = tp.read_evals(LOGS / "inspect_small.json")
    assert rows(log, "model", "item", "score") == [
        ("mockllm/small", "q0", 1.0),
        ("mockllm/small", "q1", 1.0),
    ]


def members(path):
    return {name: LogFile(path).member(name) for name in LogFile(path).members() if "samples/" not in name}


def archive(path, contents):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, value in contents.items():
            file.writestr(name, json.dumps(value))
    return path


def test_archives_without_zstandard_and_cut_off_runs(tmp_path):
    contents = members(SMALL)
    whole = archive(tmp_path / "whole.eval", contents)
    assert tp.read_evals(whole) == tp.read_evals(SMALL)
    # a run that was cut off has only its journal, whose parts are numbered
    samples = contents["summaries.json"]
    journal = {f"_journal/summaries/{i + 1}.json": samples[i : i + 1] for i in range(11)}
    cut = archive(tmp_path / "cut.eval", {"_journal/start.json": contents["_journal/start.json"]} | journal)
    assert tp.read_evals(cut)["item"] == [sample["id"] for sample in samples[:11]]


def test_inspect_values_of_all_kinds(tmp_path):
    values = ["C", "I", "P", "N", 0.25, True, float("nan"), [1, 2], {"style": 0.5, "facts": "C"}]
    samples = [{"id": i, "epoch": 1, "scores": {"judge": {"value": value}}} for i, value in enumerate(values)]
    samples += [{"id": 90, "epoch": 1, "scores": {}}, {"id": 91, "score": {"value": "C"}}]
    samples += [{"id": 92, "epoch": 1, "scores": {"judge": {"value": "C"}}, "invalidation": {"author": "x"}}]
    path = write(tmp_path / "log.json", {"eval": {"model": "m", "task": "t"}, "samples": samples})
    log = tp.read_evals(path, grader="all")
    found = {(row["item"], row.get("grader")): (row["score"], row["error"]) for row in log}
    assert [found[str(i), "judge"][0] for i in range(8)] == [1.0, 0.0, 0.5, 0.0, 0.25, 1.0, None, None]
    assert found["8", "judge/style"][0] == 0.5
    assert found["8", "judge/facts"][0] == 1.0
    assert found["91", "score"][0] == 1.0
    assert found["92", ""] == (None, "invalidated")
    assert log.counts.to_dicts() == [{"model": "m", "scores": 9, "errors": 1, "unscored": 3}]


def test_tokens_are_those_of_the_evaluated_model(tmp_path):
    usage = {
        "m": {"total_tokens": 7, "total_cost": 0.5},
        "judge": {"total_tokens": 100, "total_cost": 9.0},
    }
    sample = {"id": 1, "scores": {"s": {"value": 1}}, "total_time": 4.0, "working_time": 3.0}
    path = write(
        tmp_path / "log.json",
        {"eval": {"model": "m", "task": "t"}, "samples": [sample | {"model_usage": usage}]},
    )
    assert rows(tp.read_evals(path), "tokens", "seconds", "dollars") == [(7.0, 3.0, 0.5)]


def test_a_missing_package_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setattr(log_file, "_can_read", lambda info: False)
    with pytest.raises(MissingExtra, match="pip install zstandard"):
        tp.read_evals(SMALL)


# -- lm-evaluation-harness


def test_lm_eval_samples():
    log = tp.read_evals(LOGS / "lm_eval", group="passage")
    assert sorted(log.models) == ["org/large", "org/small"]  # from the results, not from the folder's name
    assert set(log["task"]) == {"capitals", "choices"}
    assert len(set(log["item"])) == 16  # the same documents in two tasks are different items
    assert set(rows(log, "task", "grader")) == {("capitals", "exact_match,strict"), ("choices", "acc")}
    assert "'exact_match,flexible' and 'acc_norm'" in log.remarks[0]
    right = [s for m, t, s in rows(log, "model", "task", "score") if (m, t) == ("org/small", "capitals")]
    assert right == [0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0]  # every third answer is wrong
    other = tp.read_evals(LOGS / "lm_eval", grader="acc_norm")
    assert set(other["task"]) == {"choices"}


def test_lm_eval_without_results_has_the_name_of_the_folder(tmp_path):
    folder = tmp_path / "org__small"
    folder.mkdir()
    (source,) = (LOGS / "lm_eval" / "org__small").glob("samples_choices*")
    (folder / source.name).write_bytes(source.read_bytes())
    assert tp.read_evals(folder).models == ["org__small"]


# -- promptfoo


def promptfoo(version=3):
    def result(provider, prompt, question, score, **more):
        return {
            "provider": {"id": provider, "label": ""},
            "promptIdx": prompt,
            "prompt": {"raw": "text", "label": ["short", "long"][prompt]},
            "vars": {"question": question},
            "score": score,
            "success": score > 0.5,
            "failureReason": 0 if score else 1,
            "latencyMs": 1500,
            "cost": 0.002,
            "response": {"tokenUsage": {"total": 30}},
        } | more

    found = [
        result("openai:a", 0, "x", 1),
        result("openai:a", 1, "x", 0),
        result("openai:a", 0, "x", 0),  # a repetition has a test index of its own
        result("openai:a", 0, "y", 0, failureReason=2, error="API error: timeout"),
    ]
    return {"evalId": "e", "results": {"version": version, "results": found} if version > 1 else found}


@pytest.mark.parametrize("version", [1, 3])
def test_promptfoo_results(tmp_path, version):
    log = tp.read_evals(write(tmp_path / "results.json", promptfoo(version)))
    assert rows(log, "model", "item", "sample", "score", "error") == [
        ("openai:a | prompt 1: short", '{"question": "x"}', 1, 1.0, None),
        ("openai:a | prompt 2: long", '{"question": "x"}', 1, 0.0, None),
        ("openai:a | prompt 1: short", '{"question": "x"}', 2, 0.0, None),
        ("openai:a | prompt 1: short", '{"question": "y"}', 1, None, "API error: timeout"),
    ]
    assert rows(log, "tokens", "seconds", "dollars")[0] == (30.0, 1.5, 0.002)
    assert tp.read_evals(tmp_path / "results.json", group="question")["group"] == ["x", "x", "x", "y"]


# -- OpenAI evals


def test_openai_evals_records(tmp_path):
    def event(kind, sample, **data):
        return {"run_id": "r", "event_id": 0, "sample_id": sample, "type": kind, "data": data}

    path = lines(
        tmp_path / "run.jsonl",
        {"spec": {"completion_fns": ["gpt-x"], "eval_name": "arithmetic.dev.v0"}},
        event("sampling", "a.1", prompt="?", sampled="2", usage={"total_tokens": 12}),
        event("match", "a.1", correct=True, expected="2"),
        event("match", "a.1", correct=False, expected="2"),
        event("metrics", "a.2", score=0.25, choice="B"),
        event("error", "a.3", type="RateLimit", message="too many calls"),
        {"final_report": {"accuracy": 0.5}},
    )
    log = tp.read_evals(path, grader="all")
    assert rows(log, "model", "item", "sample", "grader", "score", "error") == [
        ("gpt-x", "a.1", 1, "match", 1.0, None),
        ("gpt-x", "a.1", 2, "match", 0.0, None),
        ("gpt-x", "a.2", 1, "score", 0.25, None),
        ("gpt-x", "a.3", 1, "", None, "too many calls"),
    ]
    assert log["tokens"] == [6.0, 6.0, None, None]


# -- DeepEval


@pytest.mark.parametrize("nested", [False, True])
def test_deepeval_runs(tmp_path, nested):
    metric = {"name": "Answer Relevancy", "score": 0.75, "success": True, "error": None}
    cases = [
        {"name": "t1", "input": "x", "metricsData": [metric, metric | {"name": "Bias", "score": 0.0}]},
        {"name": "t2", "input": "y", "metricsData": [metric | {"score": None, "error": "no JSON"}]},
        {"name": "t3", "input": "z", "metricsData": []},
    ]
    run = {"testCases": cases, "hyperparameters": {"model": "gpt-y"}}
    log = tp.read_evals(write(tmp_path / "test_run_1.json", {"testRunData": run} if nested else run))
    assert rows(log, "model", "item", "score", "error") == [
        ("gpt-y", "x", 0.75, None), ("gpt-y", "y", None, "no JSON"), ("gpt-y", "z", None, None),
    ]  # fmt: skip
    assert log.counts.to_dicts() == [{"model": "gpt-y", "scores": 1, "errors": 1, "unscored": 1}]
    run.pop("hyperparameters")
    assert tp.read_evals(write(tmp_path / "candidate.json", run)).models == ["candidate"]


# -- HELM


def test_helm_runs(tmp_path):
    folder = tmp_path / "mmlu:subject=x,model=org_m"
    folder.mkdir()
    write(folder / "run_spec.json", {"name": folder.name, "adapter_spec": {"model": "org/m"}})

    def stat(name, total, count=1, split="test", **more):
        return {"name": {"name": name, "split": split, **more}, "count": count, "sum": total}

    shown = [
        stat("num_prompt_tokens", 40), stat("num_completion_tokens", 2), stat("inference_runtime", 0.5),
        stat("quasi_exact_match", 1.0), stat("exact_match", 0.0), stat("exact_match", 1.0, split="valid"),
    ]  # fmt: skip
    write(
        folder / "per_instance_stats.json",
        [
            {"instance_id": "id1", "train_trial_index": 0, "stats": shown},
            {"instance_id": "id1", "train_trial_index": 1, "stats": [stat("exact_match", 3.0, 4)]},
            {"instance_id": "id1", "train_trial_index": 0, "perturbation": {"name": "typos"}, "stats": shown},
            {"instance_id": "id2", "train_trial_index": 0, "stats": [stat("num_prompt_tokens", 40)]},
        ],
    )
    for path in (folder, tmp_path, folder / "run_spec.json"):
        log = tp.read_evals(path)
        assert rows(log, "model", "item", "sample", "score", "tokens") == [
            ("org/m", "id1", 0, 0.0, 42.0), ("org/m", "id1", 1, 0.75, None), ("org/m", "id2", 0, None, 40.0),
        ]  # fmt: skip
        assert set(log["task"]) == {"mmlu:subject=x"}


# -- detection


def test_each_format_is_detected_as_itself_only(tmp_path):
    files = [
        SMALL,
        LOGS / "inspect_small.json",
        *(LOGS / "lm_eval").rglob("samples_*"),
        write(tmp_path / "promptfoo.json", promptfoo()),
        write(tmp_path / "deepeval.json", {"testCases": []}),
        lines(tmp_path / "openai.jsonl", {"spec": {"completion_fns": ["m"]}}),
    ]
    for file in files:
        assert sum(each.is_format(LogFile(Path(file))) for each in FORMATS) == 1, file


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("log.json", '{"arm": "A"}'),
        ("log.json", '[{"arm": "A"}]'),
        ("log.jsonl", '{"arm": "A"}\n'),
        ("log.jsonl", "not JSON\n"),
        ("log.eval", "PK\x03\x04"),
        ("empty.jsonl", ""),
        ("log.md", "# text"),
    ],
)
def test_other_files_are_no_evaluation_logs(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert detect_format(LogFile(path)) is None
    assert not is_evaluation_log(str(path))
    with pytest.raises(InputError):
        tp.read_evals(path)


def test_the_error_of_an_unknown_format_names_the_known_ones(tmp_path):
    path = tmp_path / "notes.md"
    path.write_text("text")
    with pytest.raises(InputError, match=r"no evaluation log of a known format.*Inspect.*HELM.*table"):
        tp.read_evals(path)


def test_a_file_that_is_cut_off_is_named(tmp_path):
    (source,) = (LOGS / "lm_eval" / "org__small").glob("samples_choices*")
    path = tmp_path / source.name
    path.write_text(source.read_text()[:-30])
    with pytest.raises(InputError, match="line 8 is not JSON"):
        tp.read_evals(path)


def test_a_damaged_archive_is_named(tmp_path):
    path = archive(tmp_path / "bad.eval", members(SMALL) | {"header.json": {"no": "eval"}})
    with pytest.raises(InputError, match=r"bad\.eval: the header has no field 'eval'"):
        tp.read_evals(path)


def test_zip_members_are_found_behind_their_local_headers():
    """The extra field of a local header may be longer than that of the directory."""
    with zipfile.ZipFile(SMALL) as file:
        info = file.getinfo("header.json")
    raw = SMALL.read_bytes()
    signature, *_ = struct.unpack_from("<4s", raw, info.header_offset)
    assert signature == b"PK\x03\x04"
    assert LogFile(SMALL).member("header.json")["status"] == "success"


@pytest.mark.parametrize("value", [None, "", "maybe", [1], {"a": 1}, float("inf"), float("nan")])
def test_values_that_are_no_scores(value):
    assert read_score(value) is None
