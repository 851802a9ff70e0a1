"""Runner of an evaluation: makes the model calls that an experiment asks for, several in parallel."""

from __future__ import annotations

import asyncio
import inspect
import math
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from tideproof.errors import Finished, InputError, TideproofError, describe_value
from tideproof.evaluations.answer_file import Answer, AnswerFile
from tideproof.evaluations.current_leader import describe_leader
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.pull import Label, Pull

Score = Callable[[str, Label], Any]  # returns the score of a model on an item, or a coroutine that does
FIRST_FAILURES = 10  # calls in a row that may fail before the first one succeeds
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0  # seconds before a failed call is repeated; doubled each time


class CallFailed(TideproofError):
    """Error of a model call that failed and may be repeated."""


@dataclass
class CallCounts:
    """Numbers of model calls that succeeded, failed or were repeated in one run of an evaluation.

    Attributes
    ----------
    calls, reused, retries : number of answers that were paid for, were found in the file of answers, and
        needed a repeated call.
    cost : cost of all answers, including those found in the file.
    failed : the pairs for which all calls failed, with the last error.
    leader : text on the model that leads, and on how certain that is.
    """

    calls: int = 0
    reused: int = 0
    retries: int = 0
    cost: float = 0.0
    failed: list[tuple[str, Label, str]] = field(default_factory=list)
    leader: str = ""


class EvaluationRunner:
    """Runner that calls a scoring function for each model and item that an experiment chooses.

    Pairs that an earlier run asked for and did not finish come first. A pair whose calls all fail is
    cancelled: it has no score, and is never counted as 0.
    """

    def __init__(
        self,
        run: Experiment,
        score: Score,
        *,
        workers: int = 8,
        retries: int = 2,
        answers: AnswerFile | None = None,
        report: Callable[[CallCounts], None] = lambda counts: None,
        first_wait: float = _FIRST_WAIT,
    ) -> None:
        self._run, self._score, self._workers, self._retries = run, score, workers, retries
        self._answers, self._report, self._first_wait = answers, report, first_wait
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self.counts = CallCounts()
        if answers is not None:
            self.counts.cost = sum(answer.cost for answer in answers.known.values())

    def play(self) -> CallCounts:
        """Make model calls until the experiment has ended, and return the numbers of calls."""
        left = self._run.pending_pulls()[::-1]
        active: dict[Future[Answer], Pull] = {}
        with _BackgroundCalls(self._score, self._workers) as submit:
            try:
                while True:
                    while len(active) < self._workers and (pull := self._next_pull(left)) is not None:
                        active[submit(self._call_repeatedly, pull)] = pull
                    if not active:
                        return self.counts
                    for done in wait(active, return_when=FIRST_COMPLETED).done:
                        self._finish(active.pop(done), done)
            except BaseException:
                self._stopping.set()
                for future in active:
                    future.cancel()
                raise

    def _next_pull(self, left: list[Pull]) -> Pull | None:
        """Return the next pull that needs a model call; for pulls with known answers, record these."""
        while True:
            try:
                pull = left.pop() if left else self._run.ask()
            except Finished:
                return None
            answer = None if self._answers is None else self._answers.known.get((pull.arm, pull.environment))
            if answer is None:
                return pull
            self._run.tell(pull, answer.score)
            self.counts.reused += 1
            self._show()

    def _finish(self, pull: Pull, done: Future[Answer]) -> None:
        counts = self.counts
        try:
            answer = done.result()
        except CallFailed as error:
            counts.failed.append((pull.arm, pull.environment, str(error)))
            if not counts.calls and not counts.reused and len(counts.failed) >= FIRST_FAILURES:
                raise InputError(
                    f"the first {len(counts.failed)} calls failed, the last one for model {pull.arm!r} and "
                    f"item "
                    f"{pull.environment!r}: {error}"
                ) from None
            self._run.cancel(pull)
        else:
            if self._answers is not None:
                self._answers.add(pull.arm, pull.environment, answer)
            self._run.tell(pull, answer.score)
            counts.calls += 1
            counts.cost += answer.cost
        self._show()

    def _show(self) -> None:
        self.counts.leader = describe_leader(self._run)
        self._report(self.counts)

    def _call_repeatedly(self, call: Callable[[str, Label], Any], pull: Pull) -> Answer:
        """Call the scoring function in a thread of its own, and again if it fails."""
        pause = self._first_wait
        for attempt in range(self._retries + 1):
            try:
                return checked_answer(call(pull.arm, pull.environment), pull)
            except TideproofError as error:
                if not isinstance(error, CallFailed):
                    raise
                failure = error
            except Exception as error:
                failure = CallFailed(f"{type(error).__name__}: {error}")
            if attempt < self._retries:
                with self._lock:
                    self.counts.retries += 1
                if self._stopping.wait(min(pause, _LONGEST_WAIT)):
                    break
                pause *= 2.0
        raise failure


def checked_answer(value: Any, pull: Pull) -> Answer:
    """Return a scoring function's result as a score with its cost; raise an error if it is no number."""
    cost: Any = 0.0
    if isinstance(value, Mapping):
        if "score" not in value:
            raise CallFailed(
                f"the result has no 'score', but {', '.join(map(repr, list(value)[:5])) or 'nothing'}"
            )
        value, cost = value["score"], value.get("cost", 0.0)
    numbers = []
    for name, each in (("score", value), ("cost", cost)):
        try:
            number = math.nan if isinstance(each, (str, bytes)) else float(each)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise CallFailed(f"the {name} must be a finite number, not {describe_value(each)[:80]}")
        numbers.append(number)
    return Answer(*numbers)


def is_asynchronous(score: Callable[..., Any]) -> bool:
    """Return whether a function, or an object that can be called, returns a coroutine."""
    called = score if inspect.isroutine(score) else type(score).__call__
    return inspect.iscoroutinefunction(called)


class _BackgroundCalls:
    """Context manager that returns a function which runs calls in background threads.

    Coroutines of all calls run in one event loop, so that they can share a client.
    """

    def __init__(self, score: Score, workers: int) -> None:
        self._score, self._threads = score, ThreadPoolExecutor(workers, "evaluation")
        self._loop: asyncio.AbstractEventLoop | None = None

    def __enter__(self) -> Callable[..., Future[Answer]]:
        if is_asynchronous(self._score):
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
            self._thread.start()

        def submit(work: Callable[..., Answer], pull: Pull) -> Future[Answer]:
            return self._threads.submit(work, self._call, pull)

        return submit

    def _call(self, model: str, item: Label) -> Any:
        found = self._score(model, item)
        if self._loop is not None:
            return asyncio.run_coroutine_threadsafe(found, self._loop).result()
        return found

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._loop is not None and error is not None:
            for task in asyncio.all_tasks(self._loop):
                self._loop.call_soon_threadsafe(task.cancel)
        self._threads.shutdown(wait=True, cancel_futures=True)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
