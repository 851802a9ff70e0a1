"""Write the small logs of Inspect in `logs/`, with Inspect itself and a model that answers from a list.

Run it in an environment of its own with inspect-ai and tiktoken: `python tests/evaluations/write_inspect_logs.py`.
One call of each model fails, so the logs also contain samples with an error.
"""

import shutil
import tempfile
from itertools import count
from pathlib import Path

import inspect_ai._eval.task.run as run
import inspect_ai.log._log as log
import tiktoken
from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalError
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import includes, match
from inspect_ai.solver import solver

HERE = Path(__file__).parent / "logs"
WRONG = {"small": 3, "large": 5}  # each how many answers one is wrong


class Words:
    """A tokenizer that needs no download."""

    def encode(self, text, **_):
        return text.split()


def answers(model):
    for number in count(1):
        yield ModelOutput.from_content(f"mockllm/{model}", "Rome" if number % WRONG[model] == 0 else "Paris")


@solver
def fail_on_question_3():
    async def solve(state, generate):
        if state.sample_id == "q3" and state.epoch == 1:
            raise RuntimeError("the provider failed")
        return await generate(state)

    return solve


def write(model, kind, items, epochs):
    samples = [
        Sample(id=f"q{i}", input="?", target="Paris", metadata={"passage": f"p{i // 2}"}) for i in items
    ]
    task = Task(
        dataset=MemoryDataset(samples), solver=fail_on_question_3(), scorer=[match(), includes()],
        epochs=epochs, name="capitals", fail_on_error=False,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        made = get_model(f"mockllm/{model}", custom_outputs=answers(model), memoize=False)
        evaluate(task, model=made, log_dir=folder, log_format=kind, display="none", max_samples=1)
        (written,) = Path(folder).glob(f"*.{kind}")
        shutil.copy(written, HERE / f"inspect_{model}.{kind}")


if __name__ == "__main__":
    # no traceback: it would contain paths of this machine
    without_traceback = lambda ex, *_: EvalError(message=repr(ex), traceback="", traceback_ansi="")  # noqa: E731
    log.eval_error = run.eval_error = without_traceback
    tiktoken.get_encoding = tiktoken.encoding_for_model = lambda *_, **__: Words()
    for model in WRONG:
        write(model, "eval", range(8), 2)
    write("small", "json", range(2), 1)
