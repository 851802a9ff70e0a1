"""Write the small logs of lm-evaluation-harness in `logs/lm_eval/`, with the harness and two models that only count.

Run it in an environment of its own with lm-eval: `python tests/evaluations/write_lm_eval_logs.py`.
Of the files with results only the fields with the name of the model are kept.
"""

import json
import tempfile
from pathlib import Path

from lm_eval.api.model import LM
from lm_eval.evaluator import simple_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

HERE = Path(__file__).parent / "logs" / "lm_eval"
KEPT = ("model_source", "model_name", "model_name_sanitized", "lm_eval_version")
GENERATED = """
task: capitals
dataset_path: json
dataset_kwargs: {data_files: {test: PATH}}
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["."]}
filter_list:
  - {name: strict, filter: [{function: regex, regex_pattern: "(Paris)"}, {function: take_first}]}
  - {name: flexible, filter: [{function: regex, regex_pattern: "(?i)(paris|rome)"}, {function: take_first}]}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""
CHOSEN = """
task: choices
dataset_path: json
dataset_kwargs: {data_files: {test: PATH}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: ["Paris", "Rome"]
doc_to_target: 0
metric_list: [{metric: acc}, {metric: acc_norm}]
"""


class Counting(LM):
    """A model whose answers follow from the number of the request."""

    def __init__(self, shift):
        super().__init__()
        self.shift = shift

    def generate_until(self, requests, disable_tqdm=False):
        return ["Rome" if i % (3 + self.shift) == 0 else "Paris" for i, _ in enumerate(requests)]

    def loglikelihood(self, requests, disable_tqdm=False):
        return [(-1.0 - (7 * i + self.shift) % 5, False) for i, _ in enumerate(requests)]

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        raise NotImplementedError


def write(folder):
    items = [{"question": f"q {i}", "answer": "Paris", "passage": f"p{i // 2}"} for i in range(8)]
    data = folder / "items.jsonl"
    data.write_text("".join(json.dumps(item) + "\n" for item in items))
    for name, text in {"capitals": GENERATED, "choices": CHOSEN}.items():
        (folder / f"{name}.yaml").write_text(text.replace("PATH", str(data)))
    known = TaskManager(include_path=str(folder), include_defaults=False)
    for shift, name in enumerate(["org/small", "org/large"]):
        tracker = EvaluationTracker(output_path=str(HERE))
        found = simple_evaluate(
            model=Counting(shift), tasks=["capitals", "choices"], log_samples=True, task_manager=known,
            evaluation_tracker=tracker, bootstrap_iters=0,
        )  # fmt: skip
        samples = found.pop("samples")
        tracker.general_config_tracker.model_name = name
        tracker.general_config_tracker.model_name_sanitized = name.replace("/", "__")
        tracker.save_results_aggregated(results=found, samples=samples)
        for task in found["configs"]:
            tracker.save_results_samples(task_name=task, samples=samples[task])
    for path in HERE.rglob("results_*.json"):
        whole = json.loads(path.read_text())
        path.write_text(json.dumps({key: whole[key] for key in KEPT if key in whole}) + "\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        write(Path(work))
