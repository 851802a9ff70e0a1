"""Reader of evaluation logs of HELM: folders with `run_spec.json` and `per_instance_stats.json`.

Perturbed copies of instances are left out; `train_trial_index` numbers repeated samples. All statistics of an
instance are scores or costs; the first known metric is the default.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tideproof.errors import InputError
from tideproof.evaluations.readers.log_file import LogFile
from tideproof.evaluations.readers.log_row import LogRow, read_amount, read_score

NAME = "HELM (folder with run_spec.json)"
_SPEC, _STATS = "run_spec.json", "per_instance_stats.json"
_METRICS = (  # those that HELM shows first
    "exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match",
    "final_number_exact_match", "math_equiv_chain_of_thought", "math_equiv", "ifeval_strict_accuracy",
    "chain_of_thought_correctness", "f1_score", "rouge_l", "bleu_4", "pass",
)  # fmt: skip
_NO_SCORES = (
    "num_",
    "inference_",
    "finish_reason",
    "training_",
    "batch_size",
    "logprob",
    "max_prob",
    "predicted_",
)
_TOKENS = ("num_prompt_tokens", "num_completion_tokens")
_SECONDS = "inference_runtime"


def is_format(file: LogFile) -> bool:
    """Return whether a path is an evaluation log of HELM: its folder, or one of the two files in it."""
    folder = _folder(file)
    return (folder / _SPEC).is_file() and (folder / _STATS).is_file()


def read_rows(file: LogFile, group: str | None = None) -> Iterator[LogRow]:
    """Yield a row for each known metric of each instance and trial in an evaluation log of HELM."""
    folder = _folder(file)
    spec, instances = _load(folder / _SPEC), _load(folder / _STATS)
    model = str(spec["adapter_spec"]["model"])
    task = str(spec.get("name", "")).replace(f"model={model.replace('/', '_')}", "").strip(",:")
    for instance in instances:
        if instance.get("perturbation"):
            continue
        means = _means(instance["stats"])
        known = [name for name in _METRICS if name in means]
        if not known:
            known = [name for name in means if not name.startswith(_NO_SCORES)][:1]
        tokens = [means.get(name) for name in _TOKENS]
        row = LogRow(
            model,
            str(instance["instance_id"]),
            None,
            task,
            instance.get("train_trial_index", 0),
            tokens=sum(part or 0.0 for part in tokens) if any(part is not None for part in tokens) else None,
            seconds=means.get(_SECONDS),
        )
        if not known:
            yield row
        for name in known:
            yield row._replace(grader=name, score=read_score(means[name]))


def _folder(file: LogFile) -> Path:
    """Return the folder of an evaluation log of HELM."""
    return (
        file.path
        if file.is_folder
        else file.path.absolute().parent
        if file.path.name in (_SPEC, _STATS)
        else file.path
    )


def _load(path: Path) -> Any:
    """Return the parsed JSON document of a file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise InputError(f"{path} is not JSON; the file may be cut off") from None


def _means(stats: list[Mapping[str, Any]]) -> dict[str, float]:
    """Return the mean of each statistic of an unperturbed test instance, without validation statistics."""
    found: dict[str, float] = {}
    for each in stats:
        name = each["name"]
        if name.get("perturbation") or name.get("split") in ("train", "valid"):
            continue
        count, total = read_amount(each.get("count")), read_amount(each.get("sum"))
        if count and total is not None:
            found.setdefault(str(name["name"]), total / count)
    return found
