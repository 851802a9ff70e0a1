"""The public door for plug-ins: what is behind it, one walked through as a stranger, and what is refused."""

import collections
import dataclasses
import functools
import inspect
import io
import os
import pdb
import pickle
import re
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import EntryPoint
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pytest

import tideproof as tp
import tideproof.research.suite.policy_suite
from tideproof import plugin
from tideproof.kernels.choose import arm_choice
from tideproof.lab.engines import compile_pool
from tideproof.lab.simulation_plan import SimulationPlan
from tideproof.plugin import (
    IPS,
    MEAN,
    OLS,
    Int1,
    Policy,
    Scratch,
    Selection,
    argmax,
    contend,
    hole,
    kernel,
    least_pulled,
    uniform,
)
from tideproof.policies import policy_registry
from tideproof.policies.declared_statistics import WORDS
from tideproof.policies.reduce_to_mab import REDUCE_HOLES as OF_REDUCE
from tideproof.policies.reserved_placeholders import RESERVED_HOLES
from tideproof.testing import policy_checks

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "plugin"


class Params(NamedTuple):
    share: float


class State(NamedTuple):
    told: Int1
    work: Scratch


def configure(arms, horizon, selection, *, share=0.5):
    return Params(share)


@kernel
def ask(params, state, data, slot, draw):
    if uniform(draw, data.pulls.size) < params.share:
        return least_pulled(data.pulls, draw)
    return argmax(data.moments.mean, draw)  # the leader by raw means


@kernel
def tell(params, state, data, slot, arm, n, draw):
    state.told[0] += n


POLICY = Policy(
    name="coin",
    idea="the leader or a coin",
    reference="none",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: arms,
    selections=(MEAN, OLS),
    reads=frozenset({"means"}),
    needs_horizon=False,
    shift_aware=False,
)


def line_of(text):
    """Return the number of the one line of this file that ends with `text`."""
    lines = Path(__file__).read_text().splitlines()
    (number,) = [i for i, line in enumerate(lines, 1) if line.endswith(text) and "line_of" not in line]
    return number


def names(error):
    """Return what every such error must name: this file, by its last part, and a line."""
    return re.search(r"'(\w+)' \([^)]*test_plugin\.py, line (\d+)\)", str(error.value)).groups()


# ---------------------------------------------------------------- the door


def test_the_door_has_what_it_says():
    imported = {name for name in vars(plugin) if name.isidentifier() and not name.startswith("__")}
    assert set(plugin.__all__) == imported
    assert len(plugin.__all__) == len(imported)


@pytest.mark.parametrize("name", [n for n in plugin.__all__ if callable(getattr(plugin, n))])
def test_everything_behind_the_door_is_documented(name):
    if not name.startswith(("Float", "Int")):  # annotations
        assert getattr(plugin, name).__doc__


def test_every_word_of_reads_is_explained():
    for word in WORDS:
        assert f'"{word}"' in plugin.__doc__


def test_the_example_is_a_distribution_of_its_own(tmp_path):
    """Installed beside us, found by its name in a fresh process, tested by its own tests, simulated."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
    ]
    subprocess.run(
        [*pip, "--disable-pip-version-check", "--target", tmp_path, EXAMPLE], check=True, capture_output=True
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    code = """
        import sys
        import pytest
        import tideproof as tp
        assert "epsilon-greedy" in tp.policy_names()
        study = tp.simulate(tp.mdm(3), ["epsilon-greedy", "round-robin"], 60, replications=100, seed=1)
        assert study.pics("epsilon-greedy") < study.pics("round-robin")
        print(tp.policy("epsilon-greedy", n0=3).label)
        sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", sys.argv[1], "-c", sys.argv[2], sys.argv[1]]))
    """
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    command = [sys.executable, "-c", textwrap.dedent(code), EXAMPLE / "tests", tmp_path / "pytest.ini"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("epsilon-greedy(n0=3)\n")
    assert "12 passed" in done.stdout


# ---------------------------------------------------------------- without installing


def test_a_policy_is_accepted_wherever_a_name_is(monkeypatch):
    assert "coin" not in tp.policy_names()
    world = tp.mdm(3)
    study = tp.simulate(
        world, [POLICY, tp.policy(POLICY, share=1.0), "round-robin"], 30, replications=50, seed=1
    )
    assert list(study.policies) == ["coin", "coin(share=1.0)", "round-robin"]
    run = tp.replay(world, POLICY, seed=1, budget=30)
    assert run.arm.tolist() == tp.replay(world, tp.policy(POLICY), seed=1, budget=30).arm.tolist()
    assert run.arm.tolist() != tp.replay(world, tp.policy(POLICY, share=1.0), seed=1, budget=30).arm.tolist()
    live = tp.Experiment(["a", "b"], policy=POLICY)
    assert live.ask().arm in "ab"
    monkeypatch.setattr(
        tideproof.research.suite.policy_suite,
        "COLLECTION",
        tideproof.research.suite.policy_suite.COLLECTION[:1],
    )
    assert tp.suite([POLICY, "round-robin"], replications=20).policies == ("coin", "round-robin")


def test_a_policy_with_another_selection_rule():
    assert tp.policy(POLICY, selection="ols").label == "coin+ols"
    assert tp.policy("round-robin", selection="ols") == tp.policy("round-robin+ols")
    with pytest.raises(tp.errors.InputError, match="two selection rules"):
        tp.policy("round-robin+ols", selection="mean")
    with pytest.raises(tp.errors.UnknownName, match="unknown option 'n0' of coin"):
        tp.policy(POLICY, n0=3)
    with pytest.raises(tp.errors.InputError, match=r"a name, a Policy or tp.policy\(...\), not 3"):
        tp.replay(tp.mdm(3), 3)


@pytest.mark.parametrize("check", policy_checks(POLICY), ids=lambda check: check.__name__)
def test_contract(check):
    check()


def test_an_experiment_of_a_policy_that_is_not_registered(tmp_path):
    path = tmp_path / "run.json"
    run = tp.Experiment(["a", "b", "c"], policy=tp.policy(POLICY, share=0.25, selection="ols"), seed=3)
    run.tell_many(run.ask(n=10), range(10))
    run.save(path)
    with pytest.raises(
        tp.errors.UnknownName, match=r"'coin', which is not registered.*load\(path, policy=POLICY\)"
    ):
        tp.Experiment.load(path)
    again = tp.Experiment.load(path, policy=POLICY)
    assert again.policy == run.policy
    assert again.ask().arm == run.ask().arm
    with pytest.raises(tp.errors.InputError, match="saved with the policy 'coin', not 'lucb'"):
        tp.Experiment.load(path, policy="lucb")


def test_a_policy_by_the_name_of_a_registered_one_is_not_swapped(tmp_path):
    path = tmp_path / "run.json"
    registered = tp.policy("contrast").policy
    own = dataclasses.replace(registered, ask=asks_for_zero)
    run = tp.Experiment(["a", "b", "c"], policy=own)
    run.tell_many(run.ask(n=12), range(12))
    run.save(path)
    message = (
        r"a custom policy that has the same name as the registered policy 'contrast'.*load\(path, policy="
    )
    with pytest.raises(tp.errors.InputError, match=message):
        tp.Experiment.load(path)
    with pytest.raises(tp.errors.InputError, match=message):
        tp.Experiment.load(path, policy="contrast")
    again = tp.Experiment.load(path, policy=own)
    assert [again.ask().arm for _ in range(5)] == ["a"] * 5
    assert again.policy == run.policy
    tp.Experiment(["a", "b", "c"], policy=registered).save(path)
    assert tp.Experiment.load(path).policy == tp.policy("contrast")


def test_what_was_chosen_for_a_saved_experiment_stays(tmp_path):
    path = tmp_path / "run.json"
    tp.Experiment(["a", "b"], policy=tp.policy(POLICY, share=0.25, selection="ols")).save(path)
    for given in (POLICY, tp.policy(POLICY), tp.policy(POLICY, share=0.25, selection="ols", label="l")):
        spec = tp.Experiment.load(path, policy=given).policy
        assert (spec.selection.name, spec.options, spec.label) == (
            "ols",
            (("share", 0.25),),
            "coin+ols(share=0.25)",
        )
    with pytest.raises(tp.errors.InputError, match=r"saved with share=0\.25 of policy 'coin', not 0\.5"):
        tp.Experiment.load(path, policy=tp.policy(POLICY, selection="ols"))
    with pytest.raises(tp.errors.InputError, match="saved with selection='ols' of policy 'coin', not 'mean'"):
        tp.Experiment.load(path, policy=tp.policy(POLICY, share=0.25))


def test_options_are_plain_numbers(tmp_path):
    path = tmp_path / "run.json"
    spec = tp.policy("contrast", n0=np.int64(3))
    assert [type(value) for _, value in spec.options] == [int]
    tp.Experiment(["a", "b"], policy=spec).save(path)
    assert tp.Experiment.load(path).policy == spec


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("nowhere_at_all:POLICY", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("tideproof.plugin:POLICY", "AttributeError: .*has no attribute 'POLICY'"),
    ],
)
def test_an_installed_policy_that_cannot_be_loaded_is_named(monkeypatch, value, problem):
    broken = EntryPoint("broken", value, policy_registry.GROUP)
    monkeypatch.setattr(policy_registry, "_entries", lambda: {"broken": broken})
    with pytest.raises(
        tp.errors.InputError, match=f"policy 'broken' cannot be loaded from '{value}': {problem}"
    ):
        tp.policy("broken")


def test_what_is_no_policy():
    with pytest.raises(tp.errors.InputError, match=r"takes a registered name or a Policy, not None"):
        tp.policy(None)
    with pytest.raises(tp.errors.InputError, match=r"takes a registered name or a Policy, not <module 'sys'"):
        tp.policy(sys)
    with pytest.raises(tp.errors.InputError, match=r"not 'contrast\(n0=3\)', which is already the result"):
        tp.policy(tp.policy("contrast", n0=3))


MODULE = """
from tideproof.plugin import *
from policy_of_this_test import configure, State
@kernel
def ask(params, state, data, slot, draw): return least_pulled(data.pulls, draw)
@kernel
def tell(params, state, data, slot, arm, n, draw): pass
HERE = Policy("here", "", "", State, configure, ask, tell, lambda arms, params: arms, (MEAN,), frozenset(),
              needs_horizon=False, shift_aware=False)
"""


def test_a_plan_travels_with_a_policy_of_a_module(tmp_path, monkeypatch):
    (tmp_path / "stranger_abroad.py").write_text(MODULE.replace("policy_of_this_test", "stranger_types"))
    (tmp_path / "stranger_types.py").write_text(
        "from typing import NamedTuple\nclass State(NamedTuple): pass\nclass Params(NamedTuple): pass\n"
        "def configure(arms, horizon, selection, *, n=1): return Params()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import stranger_abroad

    plan = SimulationPlan(
        tp.mdm(3), (tp.policy(stranger_abroad.HERE, n=2, label="mine"), tp.policy("p1+ips")), (30,), 1
    )
    packed = pickle.dumps(plan)
    assert pickle.loads(packed) == plan
    code = "import pickle, sys; print(*(s.label for s in pickle.load(sys.stdin.buffer).policies))"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", code], input=packed, capture_output=True, env=env)
    assert done.stdout.split() == [b"mine", b"p1+ips"], done.stderr
    done = subprocess.run([sys.executable, "-c", code], input=packed, capture_output=True)
    assert b"the policy HERE of module 'stranger_abroad' cannot be found in this process" in done.stderr


@pytest.mark.parametrize("text", [None, "1 / 0\n", "HERE = 3\n"])
def test_a_process_that_cannot_find_a_policy_says_so_and_goes_on(tmp_path, monkeypatch, text):
    """The error comes back to the caller; one raised while a plan is unpickled would break the pool."""
    (tmp_path / "stranger_at_home.py").write_text(MODULE.replace("policy_of_this_test", "types_at_home"))
    (tmp_path / "types_at_home.py").write_text(
        "from typing import NamedTuple\nclass State(NamedTuple): pass\nclass Params(NamedTuple): pass\n"
        "def configure(arms, horizon, selection, *, n=1): return Params()\n"
    )
    with monkeypatch.context() as here:
        here.syspath_prepend(tmp_path)
        import stranger_at_home
    (tmp_path / "stranger_at_home.py").unlink()
    abroad = tmp_path / "abroad"
    abroad.mkdir()
    if text:
        (abroad / "stranger_at_home.py").write_text(text)
    monkeypatch.syspath_prepend(abroad)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        message = "the policy HERE of module 'stranger_at_home' cannot be found in this process"
        with pytest.raises(tp.errors.InputError, match=message):
            tp.simulate(tp.mdm(3), stranger_at_home.HERE, 20, replications=10, executor=pool)
        assert pool.submit(abs, -3).result() == 3
    del sys.modules["stranger_at_home"], sys.modules["types_at_home"]


def test_a_plan_does_not_travel_with_a_policy_that_nobody_could_find():
    lost = dataclasses.replace(POLICY, name="lost")
    plan = SimulationPlan(tp.mdm(3), (tp.policy(lost),), (30,), 1)
    with pytest.raises(
        tp.errors.InputError, match=r"policy 'lost' cannot be sent to other processes.*in a file"
    ):
        pickle.dumps(plan)
    compile_pool.compile_ahead({"a": plan, "b": plan})  # no error: this process compiles it when it needs it
    assert not {"a", "b"} & compile_pool.pending_programs.keys()


# ---------------------------------------------------------------- what is refused, and how


def helper(x):
    return x  # of a helper


@kernel
def asks_helper(params, state, data, slot, draw):
    return helper(0)  # no kernel


@kernel
def asks_by_attribute(params, state, data, slot, draw):
    return arm_choice.argmax(data.pulls, draw)  # by attribute


missing = hole("missing")


@kernel
def asks_a_hole(params, state, data, slot, draw):
    return missing(data)  # nobody fills it


@kernel
def has_a_keyword(x, *, y=1):
    return x + y


@kernel
def asks_with_a_keyword(params, state, data, slot, draw):
    return has_a_keyword(0)


@kernel
def asks_for_the_fit(params, state, data, slot, draw):
    return leads(data, draw)


@kernel
def leads(data, draw):
    return argmax(data.fit.mu, draw)  # undeclared


@kernel
def asks_by_another_name(params, state, everything, slot, draw):
    return leads_too(everything, draw)


@kernel
def leads_too(everything, draw):
    return argmax(everything.fit.mu, draw)  # unseen


@kernel
def wrong_weigh(params, state, data, arm):
    return data.moments.squares[arm] + 1.0


@pytest.mark.parametrize(
    ("kernel_", "message", "where"),
    [
        (
            asks_helper,
            "uses 'helper' which is not a kernel: put @kernel above 'helper'",
            "return helper(0)  # no kernel",
        ),
        (
            asks_by_attribute,
            "calls arm_choice.argmax as an attribute.*write `from tideproof.kernels.choose.arm_choice import argmax`",
            "# by attribute",
        ),
        (
            asks_a_hole,
            r"uses the placeholder .hole. 'missing', which has no value.*holes=",
            "# nobody fills it",
        ),
        (
            asks_with_a_keyword,
            r"keyword-only parameters \(y\).*remove the \*",
            "def has_a_keyword(x, *, y=1):",
        ),
        (asks_for_the_fit, "reads data.fit.mu, .*add 'fit' to `reads`", "# undeclared"),
    ],
)
def test_a_kernel_that_cannot_be_linked_is_named_with_its_line(kernel_, message, where):
    policy = dataclasses.replace(POLICY, ask=kernel_, selections=(MEAN,))
    with pytest.raises(tp.errors.KernelError, match=message) as error:
        tp.replay(tp.mdm(3), policy, budget=9)
    name, line = names(error)
    shift = 1 if where.startswith("def") else 0  # the line of its decorator
    assert int(line) == line_of(where) - shift
    assert name in (kernel_.__name__, "has_a_keyword", "leads")


def test_what_is_read_under_another_name_is_found_by_the_contract():
    policy = dataclasses.replace(POLICY, ask=asks_by_another_name, selections=(MEAN,))
    tp.replay(tp.mdm(3), policy, budget=9)  # reads zeros
    checks = {check.__name__.partition("[")[0]: check for check in policy_checks(policy)}
    with pytest.raises(AssertionError, match=r"reads data\.fit\.mu, .*add 'fit'") as error:
        checks["reads_what_it_declares"]()
    assert names(error) == ("leads_too", str(line_of("# unseen")))
    declared = dataclasses.replace(policy, reads=frozenset({"fit"}))
    next(c for c in policy_checks(declared) if c.__name__.startswith("reads_what"))()


class Methods:
    @kernel
    def bound(self, params, state, data, slot, draw):
        return 0

    @staticmethod
    @kernel
    def static(pulls):
        return 0

    def __call__(self, params, state, data, slot, draw):
        return 0


@kernel
def asks_a_static_method(params, state, data, slot, draw):
    return Methods.static(data.pulls)


def test_a_static_method_is_to_be_a_function():
    policy = dataclasses.replace(POLICY, ask=asks_a_static_method)
    message = r"calls Methods\.static as an attribute.*move it out of the class Methods into a module and call static\("
    with pytest.raises(tp.errors.KernelError, match=message):
        tp.replay(tp.mdm(3), policy, budget=9)


@pytest.mark.parametrize(
    "f", [functools.partial(helper), Methods(), Methods().bound, len, staticmethod(helper)]
)
def test_a_kernel_is_a_plain_function(f):
    with pytest.raises(
        tp.errors.KernelError, match=r"@kernel must decorate a plain function, .*, not (<|functools)"
    ):
        kernel(f)


def state(annotation):
    return NamedTuple("State", [("told", Int1), ("x", annotation)])


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (state(int), r"State\.x is annotated as <class 'int'>: .* annotated with .*FloatK"),
        (state(np.ndarray), r"State\.x is annotated as <class 'numpy\.ndarray'>"),
        (state(tuple), r"State\.x is annotated as <class 'tuple'>"),
        (state(Annotated[int, "hello"]), r"State\.x is annotated as .*'hello'\]: the fields"),
        (
            state(Annotated[np.ndarray, np.float32, 3]),
            r"State\.x is annotated as .*float32.*int64 or float64",
        ),
        (state(Annotated[np.ndarray, np.float64]), r"State\.x is annotated as .*float64'>\]: the fields"),
        (state(Annotated[np.ndarray, np.float64, "L"]), r"State\.x is annotated as .*'L'\]: the fields"),
        (state(Annotated[np.ndarray, np.float64, -1]), r"State\.x is annotated as .*-1\]: the fields"),
        (state(state(int)), r"State\.x is annotated as <class 'int'>: the fields"),
        (state("FloatX"), "an annotation of State is not defined in its module: name 'FloatX'"),
        (collections.namedtuple("Bare", "told x"), r"Bare\.told has no annotation: the fields"),
        (Methods, "a state must be a NamedTuple of arrays, not <class"),
        (None, "a state must be a NamedTuple of arrays, not None"),
    ],
)
def test_a_state_that_is_wrong_is_refused_when_its_policy_is_made(kind, message):
    with pytest.raises(tp.errors.InputError, match="State of policy 'coin': " + message):
        dataclasses.replace(POLICY, State=kind)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ask": helper}, "ask of policy 'coin' is not a kernel: put @kernel above 'helper'"),
        (
            {"tell": len},
            r"tell of policy 'coin' is not a kernel: it must be a plain function with @kernel above it, not <built-in",
        ),
        (
            {"holes": {"FIT": True}},
            r"policy 'coin' defines the placeholder .hole. 'FIT', which is reserved for tideproof.*names: BY_ARM, .*, tell and weigh",
        ),
        ({"holes": {"ask": ask}}, "defines the placeholder .hole. 'ask'.*Rename"),
        (
            {"reads": frozenset({"fits"})},
            "unknown statistic 'fits' in `reads` of policy 'coin'; did you mean 'fit'",
        ),
        ({"name": "a+b"}, r"must be text, not empty and without '\+', not 'a\+b'"),
        ({"name": None}, "must be text.*not None"),
        ({"name": "reduce:x"}, "policy name 'reduce:x' must not begin with 'reduce:'"),
        ({"reads": "fit"}, r"`reads` of policy 'coin' must be a set of words, .*\{'fit'\}\), not 'fit'"),
        ({"reads": ["fit"]}, r"`reads` of policy 'coin' must be a set of words, .*not \['fit'\]"),
        ({"reads": None}, "must be a set of words.*not None"),
        (
            {"selections": ("ols",)},
            r"selections of policy 'coin' must be a tuple of.*\(OLS,\), not \('ols',\)",
        ),
        (
            {"selections": OLS},
            r"selections of policy 'coin' must be a tuple of selection rules.*not Selection",
        ),
        ({"minimum": None}, "minimum of policy 'coin' must be a function, not None"),
        ({"configure": 3}, "configure of policy 'coin' must be a function, not 3"),
        ({"ask": Methods().bound}, "ask of policy 'coin' is not a kernel: it must be a plain function"),
        ({"selections": ()}, "needs a selection rule"),
    ],
)
def test_a_policy_that_is_wrong_is_refused_when_it_is_made(change, message):
    with pytest.raises(tp.errors.InputError, match=message):
        dataclasses.replace(POLICY, **change)


def test_a_selection_rule_that_is_wrong_is_refused_when_it_is_made():
    with pytest.raises(
        tp.errors.KernelError, match=r"select of selection rule 'own' is not a kernel.*test_plugin\.py"
    ):
        Selection("own", "", helper, MEAN.identified, frozenset())
    with pytest.raises(
        tp.errors.KernelError, match=r"selection rule 'own' defines the placeholder .hole. 'select'"
    ):
        dataclasses.replace(MEAN, name="own", holes={"select": MEAN.select})
    with pytest.raises(
        tp.errors.UnknownName, match="unknown statistic 'mean' in `reads` of selection rule 'own'"
    ):
        Selection("own", "", MEAN.select, MEAN.identified, frozenset({"mean"}))
    blind = Selection("own", "", MEAN.select, MEAN.identified, frozenset())
    with pytest.raises(tp.errors.KernelError, match=r"reads data\.moments\.told, .*add"):
        tp.policy(
            dataclasses.replace(POLICY, selections=(blind,), reads=frozenset(), ask=asks_for_nothing)
        ).program()


@pytest.mark.parametrize("rule", ["mean", "ols"])
@pytest.mark.parametrize(
    ("word", "read", "reads"), [("fit", "fit.mu", {"means"}), ("means", "moments.mean", {"fit"})]
)
def test_what_another_rule_declares_is_not_declared(rule, word, read, reads):
    """Neither by a rule that is not in use, nor by the one that is: its policy could be used with another."""
    asks = {"fit": asks_for_the_fit, "means": asks_for_the_mean}[word]
    policy = dataclasses.replace(POLICY, ask=asks, reads=frozenset(reads), selections=(MEAN, OLS))
    with pytest.raises(
        tp.errors.KernelError, match=rf"reads data\.{read}.*add '{word}'.* to `reads` of policy 'coin'"
    ):
        tp.replay(tp.mdm(3), tp.policy(policy, selection=rule), budget=9)


@kernel
def asks_for_the_mean(params, state, data, slot, draw):
    return argmax(data.moments.mean, draw)


@kernel
def asks_for_the_fit_by_its_params(params, state, data, slot, draw):
    return argmax(data.fit.mu, draw) if params.share > 0.0 else 0


def test_what_is_read_only_with_a_rule_that_declares_it():
    policy = dataclasses.replace(
        POLICY, ask=asks_for_the_fit_by_its_params, reads=frozenset(), reads_with_rule=frozenset({"fit"})
    )
    watched = {
        (rule, share): next(iter(policy_checks(tp.policy(policy, selection=rule, share=share))))
        for rule, share in (("ols", 1.0), ("mean", 0.0), ("mean", 1.0))
    }
    watched["ols", 1.0]()
    watched["mean", 0.0]()
    with pytest.raises(AssertionError, match=r"reads data\.fit\.mu.*add 'fit' to `reads` of policy 'coin'"):
        watched["mean", 1.0]()


def test_a_rule_declares_what_it_reads_itself():
    blind = dataclasses.replace(MEAN, name="own", reads=frozenset())
    with pytest.raises(
        tp.errors.KernelError, match="add 'means' or 'moments' to `reads` of selection rule 'own'"
    ):
        tp.policy(dataclasses.replace(POLICY, selections=(blind,))).program()


@kernel
def asks_by_an_alias(params, state, data, slot, draw):
    d = data
    return argmax(d.moments.mean, draw)  # alias


@kernel
def asks_unpacked(params, state, data, slot, draw):
    _pulls, moments, *_others = data  # unpacked
    return argmax(moments.mean, draw)


@kernel
def asks_by_place(params, state, data, slot, draw):
    return argmax(data[1][1], draw)  # by place


@pytest.mark.parametrize(
    ("asks", "read", "word", "line"),
    [
        (asks_by_an_alias, "moments.mean", "'means' or 'moments'", "# alias"),
        (asks_unpacked, "told", "'reward'", "# unpacked"),
        (asks_by_place, "moments.mean", "'means' or 'moments'", "# by place"),
    ],
)
def test_the_contract_finds_what_is_not_even_there(asks, read, word, line):
    policy = dataclasses.replace(POLICY, ask=asks, selections=(OLS,), reads=frozenset({"fit"}))
    checks = {check.__name__.partition("[")[0]: check for check in policy_checks(policy)}
    message = rf"after 0 pulls: kernel .* reads data\.{read}, .*add {word} to `reads` of policy 'coin'"
    with pytest.raises(AssertionError, match=message) as error:
        checks["reads_what_it_declares"]()
    assert names(error) == (asks.__name__, str(line_of(line)))


@kernel
def asks_for_nothing(params, state, data, slot, draw):
    return least_pulled(data.pulls, draw)


def test_weigh_declares_what_it_reads_too():
    policy = dataclasses.replace(
        POLICY, weigh=wrong_weigh, selections=(IPS,), reads=frozenset({"sums", "means"})
    )
    with pytest.raises(tp.errors.KernelError, match=r"'wrong_weigh'.*data\.moments\.squares.*add 'moments'"):
        tp.policy(policy).program()


def test_our_holes_are_all_that_are_filled():
    filled = {"rsqrt"}  # only on a GPU
    for name in ("round-robin", "by-arm:auto:contrast", "robust:contrast"):
        filled |= {each for each in tp.policy(name).fill() if isinstance(each, str)}  # or another kernel
    assert filled == RESERVED_HOLES
    spec = tp.policy("reduce:lucb")
    assert spec.policy.holes.keys() | spec.selection.holes.keys() == set(OF_REDUCE)


limit = hole("limit")


@kernel
def asks_its_hole(params, state, data, slot, draw):
    return limit


def test_holes_of_its_own():
    """A policy and its selection rule may fill holes, one hole in one way."""
    policy = dataclasses.replace(POLICY, ask=asks_its_hole, holes={"limit": 2})
    assert set(tp.replay(tp.mdm(3), policy, budget=9).arm.tolist()) == {2}
    rule = dataclasses.replace(MEAN, holes={"limit": 1})
    with pytest.raises(tp.errors.KernelError, match=r"give the placeholder .hole. 'limit' two"):
        tp.policy(dataclasses.replace(policy, selections=(rule,))).program()
    with pytest.raises(
        tp.errors.KernelError,
        match=r"'coin' cannot be used with the prefix 'reduce:': it defines the placeholder .hole. 'SQUARES'",
    ):
        tideproof.policies.reduce_to_mab.reduce_policy(dataclasses.replace(POLICY, holes={"SQUARES": True}))


our_sums, our_ask, of_reduce = hole("SUMS"), hole("ask"), hole("SQUARES")


@kernel
def asks_for_our_constant(params, state, data, slot, draw):
    return 0 if our_sums else 1


@kernel
def asks_for_our_kernel(params, state, data, slot, draw):
    return our_ask(params, state, data, slot, draw)


@kernel
def asks_for_a_hole_of_reduce(params, state, data, slot, draw):
    return 0 if of_reduce else 1


def asks_for_one_around(our_fit):
    @kernel
    def asks(params, state, data, slot, draw):
        return 0 if our_fit else 1

    return asks


def test_a_hole_that_is_ours_is_not_filled_by_us_for_others():
    chained = {"ask": asks_its_hole_as_a_kernel, "holes": {"limit": asks_for_our_constant}}
    for name, change in {
        "SUMS": {"ask": asks_for_our_constant},
        "ask": {"ask": asks_for_our_kernel},
        "FIT": {"ask": asks_for_one_around(hole("FIT"))},
        "SUMS'": chained,
    }.items():
        policy = dataclasses.replace(POLICY, **change)
        message = rf"kernel 'asks.* uses the reserved placeholder .hole. '{name.strip(chr(39))}'.*Rename the placeholder"
        with pytest.raises(tp.errors.KernelError, match=message):
            tp.replay(tp.mdm(3), policy, budget=9)
    with pytest.raises(tp.errors.KernelError, match=r"uses the reserved placeholder .hole. 'SQUARES'"):
        tideproof.policies.reduce_to_mab.reduce_policy(
            dataclasses.replace(POLICY, ask=asks_for_a_hole_of_reduce)
        )


@kernel
def asks_its_hole_as_a_kernel(params, state, data, slot, draw):
    return limit(params, state, data, slot, draw)


def test_a_hole_filled_with_nothing():
    with pytest.raises(
        tp.errors.KernelError, match=r"placeholder .hole. 'limit' of policy 'coin' must be a kernel"
    ):
        dataclasses.replace(POLICY, holes={"limit": None})


def test_reduced_twice():
    with pytest.raises(tp.errors.InputError, match=r"reduce:reduce:lucb .* write reduce:lucb"):
        tp.policy("reduce:reduce:lucb")


# ---------------------------------------------------------------- the contract says what is wrong


@kernel
def asks_and_writes(params, state, data, slot, draw):
    state.told[0] += 1
    return least_pulled(data.pulls, draw)


@kernel
def asks_and_scribbles(params, state, data, slot, draw):
    state.work.first[0] += 1.0
    return least_pulled(data.pulls, draw)


@kernel
def asks_beyond(params, state, data, slot, draw):
    return 4 if state.told[0] > 50 else least_pulled(data.pulls, draw)


@kernel
def tells_large(params, state, data, slot, arm, n, draw):
    state.told[0] = 2**31


@kernel
def asks_for_zero(params, state, data, slot, draw):
    return 0


@kernel
def asks_by_mean(params, state, data, slot, draw):
    best, top, ties = -1, 0.0, 0
    for i in range(data.pulls.size):
        value = data.moments.mean[i] if data.pulls[i] > 4 else 1e9 - data.pulls[i]
        best, top, ties = contend(best, top, ties, i, value, draw)
    return best


def failure(check, **changes):
    """Return what the check of that name says of the policy with these changes.

    The pytest plug-in makes pytest rewrite assertions of the package, so a line about the operands may follow.
    """
    policy = dataclasses.replace(POLICY, **changes)
    (run,) = [c for c in policy_checks(policy) if c.__name__.startswith(check)]
    with pytest.raises(AssertionError) as error:
        run()
    return str(error.value).split("\n")[0]


def test_what_the_contract_says():
    assert failure("ask_only_reads", ask=asks_and_writes) == (
        "step 0: ask or select wrote state.told; only tell may write"
    )
    assert failure("accepts_arms", ask=asks_beyond).endswith(
        "returns 4: it must return an arm, a whole number from 0 to 3, or -1 to stop"
    )
    assert "which ask did not choose" in failure("accepts_arms", ask=asks_beyond)
    assert failure("integers_are_small", tell=tells_large) == (
        "after 160 steps state.told holds 2147483648, which is not below 2**31"
    )
    assert failure("works_with_pending_pulls", ask=asks_for_zero) == (
        "48 pulls without rewards must include at least 2 of each arm: [48, 0, 0, 0]"
    )
    assert re.fullmatch(
        r"replication \d, shifts up to 1 and up to 500: at step \d+ one run pulls arm \d, the other arm \d",
        failure("shifts_change_no_choice", ask=asks_by_mean, shift_aware=True),
    )


def asks(answer):
    @kernel
    def ask_it(params, state, data, slot, draw):
        return answer

    return ask_it


@pytest.mark.parametrize("answer", [None, 1.7, 0.0, "x", True, np.True_, 7, 3, -2, (1,), float("nan")])
def test_ask_returns_an_arm(answer):
    policy = dataclasses.replace(POLICY, ask=asks(answer))
    message = re.escape(f"returns {answer!r}: it must return an arm, a whole number from 0 to ")
    where = r"ask of policy 'coin', kernel 'ask_it' \(.*test_plugin\.py, line \d+\), "
    with pytest.raises(tp.errors.KernelError, match=where + message + "2, or -1 to stop"):
        tp.Experiment(["a", "b", "c"], policy=policy).ask()
    with pytest.raises(tp.errors.KernelError, match=where + message + "2, or -1 to stop"):
        tp.replay(tp.mdm(3), policy, budget=9)
    if answer != 3:  # the contract has four arms
        for check in policy_checks(policy)[:3]:
            with pytest.raises(
                (tp.errors.KernelError, AssertionError), match=where + message + "3, or -1 to stop"
            ):
                check()


@pytest.mark.parametrize("answer", [0, 2, np.int64(1), np.uint64(1)])
def test_arms_may_be_any_whole_numbers(answer):
    run = tp.replay(tp.mdm(3), dataclasses.replace(POLICY, ask=asks(answer)), budget=9)
    assert set(run.arm.tolist()) == {int(answer)}


@pytest.mark.parametrize("answer", [9, -1, None])
def test_select_returns_an_arm(answer):
    @kernel
    def selects(params, state, data, draw):
        return answer

    rule = Selection("own", "", selects, MEAN.identified, frozenset())
    policy = dataclasses.replace(POLICY, selections=(rule,))
    message = (
        rf"select of policy 'coin' with selection rule 'own', kernel 'selects' .* returns {answer}: "
        r"it must return an arm, a whole number from 0 to 2$"
    )
    run = tp.Experiment(["a", "b", "c"], policy=policy)
    for arm in run.arms:
        run.tell_summary(arm=arm, environment="today", n=2, mean=1.0, variance=1.0)
    with pytest.raises(tp.errors.KernelError, match=message):
        run.recommend()
    with pytest.raises(tp.errors.KernelError, match=message):
        tp.replay(tp.mdm(3), policy, budget=9)


def test_scratch_may_be_written_by_ask():
    policy = dataclasses.replace(POLICY, ask=asks_and_scribbles)
    next(c for c in policy_checks(policy) if c.__name__.startswith("ask_only_reads"))()


def test_no_check_of_the_contract_fails_without_a_word():
    source = Path(sys.modules[policy_checks.__module__].__file__).read_text()
    import ast

    silent = [
        node.lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert) and not node.msg
    ]
    assert not silent


def test_states_that_differ_are_named():
    from tideproof.testing.policy_contract import assert_same_arms, assert_same_state

    one = tp.policy(POLICY).memory(3)
    other = tp.policy(POLICY).memory(3)
    other.view.state.told[0] = 7
    with pytest.raises(AssertionError, match=r"here: .*state\.told\[0\] is np\.int64\(0\) .*np\.int64\(7\)"):
        assert_same_state("here", "", one.view, other.view)
    zero = tp.policy(POLICY).memory(3)
    zero.view.data.moments.mean[2] = -0.0
    with pytest.raises(
        AssertionError, match=r"data\.moments\.mean\[2\] is np\.float64\(0\.0\) .*np.float64\(-0"
    ):
        assert_same_state("here", "", one.view, zero.view)
    short, long = (tp.replay(tp.mdm(3), POLICY, budget=b) for b in (5, 6))
    with pytest.raises(AssertionError, match="that: one run has 5 steps, the other 6"):
        assert_same_arms(short, long, "that")


# ---------------------------------------------------------------- stepping through a kernel


def test_a_kernel_stops_at_a_breakpoint_of_pdb():
    """The interpreted twin has the file and the lines of its source."""
    said = io.StringIO()
    line = line_of("# the leader by raw means")
    commands = f"break {__file__}:{line}\ncontinue\np data.moments.mean.size, params.share\nwhere\nclear 1\ncontinue\n"
    debugger = pdb.Pdb(stdin=io.StringIO(commands), stdout=said, nosigint=True, readrc=False)
    debugger.use_rawinput = False
    debugger.prompt = ""
    before = sys.gettrace()  # coverage's
    try:
        debugger.runcall(tp.replay, tp.mdm(3), POLICY, 1, 0, 30)
    finally:
        sys.settrace(before)
    assert "(3, 0.5)" in said.getvalue()
    assert f"test_plugin.py({line})ask()" in said.getvalue()
    assert "-> return argmax(data.moments.mean, draw)" in said.getvalue()


@kernel
def asks_with_a_breakpoint(params, state, data, slot, draw):
    arm = least_pulled(data.pulls, draw)
    breakpoint()
    return arm


def test_a_kernel_may_contain_a_breakpoint(monkeypatch):
    seen = []

    def note():
        frame = inspect.currentframe().f_back
        seen.append((frame.f_code.co_name, frame.f_lineno, frame.f_locals["arm"]))

    monkeypatch.setattr(sys, "breakpointhook", note)
    run = tp.replay(tp.mdm(3), dataclasses.replace(POLICY, ask=asks_with_a_breakpoint), seed=1, budget=9)
    line = line_of("    breakpoint()")
    assert seen == [("asks_with_a_breakpoint", line, arm) for arm in run.arm]


def test_what_fails_in_a_kernel_shows_its_line():
    policy = dataclasses.replace(POLICY, ask=asks_too_far)
    with pytest.raises(IndexError) as error:
        tp.replay(tp.mdm(3), policy, budget=9)
    last = error.traceback[-1]
    assert (last.name, last.lineno + 1) == ("asks_too_far", line_of("# out of bounds"))
    assert Path(str(last.path)) == Path(__file__)


@kernel
def asks_too_far(params, state, data, slot, draw):
    return data.pulls[99]  # out of bounds
