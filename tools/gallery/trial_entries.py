"""Trials in people and animals, without blocks, with covariates, with units, or summarized by study."""

from __future__ import annotations

import pandas as pd

from block_entries import SAME
from gallery_entry import GalleryEntry
from textbook_analyses import cell_means, least_squares, random_effects_difference, welch_t


def _toothpaste(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each study and paste."""
    parts = [
        pd.DataFrame(
            {
                "study": frame["Study"],
                "paste": a,
                "n": frame[f"n{a}"],
                "mean": frame[f"mean{a}"],
                "sd": frame[f"sd{a}"],
            }
        )
        for a in "AB"
    ]
    return pd.concat(parts)


def _star(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the pupils in kindergarten, with the sum of their scores in reading and mathematics."""
    rows = frame.dropna(subset=["stark", "readk", "mathk", "schoolidk"])
    return pd.DataFrame(
        {
            "class": rows["stark"],
            "school": rows["schoolidk"].astype(int),
            "score": rows["readk"] + rows["mathk"],
        }
    )


ENTRIES = (
    GalleryEntry(
        name="plants",
        kind="no environments, no winner",
        package="datasets",
        item="PlantGrowth",
        question="Which of two treatments and a control gives the heaviest plants?",
        options={"arm": "group", "environment": None, "reward": "weight"},
        pair=("trt2", "ctrl"),
        method="one-way analysis of variance",
        textbook=least_squares,
        matching={},
        why=(
            "None: without environments and with noise that does not differ clearly, tideproof's "
            "comparison is that of least squares. The textbook's overall test finds differences (trt1 and "
            "trt2 differ), but no best treatment."
        ),
    ),
    GalleryEntry(
        name="chicks",
        kind="no environments, near tie",
        package="datasets",
        item="chickwts",
        question="Which of six feeds gives the heaviest chicks?",
        options={"arm": "feed", "environment": None, "reward": "weight"},
        pair=("sunflower", "casein"),
        method="one-way analysis of variance",
        textbook=least_squares,
        matching={},
        why=(
            "None for two feeds named in advance. The interval in tideproof's answer is longer, because "
            "it allows for the choice of the best two of six feeds. The overall test finds differences, "
            "but sunflower and casein are nearly equal."
        ),
    ),
    GalleryEntry(
        name="anorexia",
        kind="covariate, no environments",
        package="MASS",
        item="anorexia",
        question=(
            "Family therapy (FT), cognitive therapy (CBT) or control (Cont): after which do patients "
            "weigh most, given their weight before?"
        ),
        options={"arm": "Treat", "environment": None, "reward": "Postwt", "covariates": ("Prewt",)},
        pair=("FT", "CBT"),
        method="analysis of covariance",
        textbook=least_squares,
        matching={"variance": "common", "about": "these"},
        why=(
            "Almost none: tideproof lets the noise of the three groups differ as far as the data support it."
        ),
    ),
    GalleryEntry(
        name="training",
        kind="money, skewed",
        package="DAAG",
        item="nsw74demo",
        question="Did a training programme raise the earnings of 1978?",
        change=lambda frame: frame.assign(program=frame["trt"].map({0: "none given", 1: "training"})),
        options={"arm": "program", "environment": None, "reward": "re78"},
        pair=("training", "none given"),
        method="t-test with unequal variances",
        textbook=welch_t,
        published="Dehejia and Wahba (1999), after LaLonde (1986): 1,794 dollars.",
        why=(
            "Almost none: the interval of tideproof is a little shorter and not symmetric, because it "
            "allows for the skewness of earnings."
        ),
    ),
    GalleryEntry(
        name="schools",
        kind="79 environments, 5,786 rows",
        package="AER",
        item="STAR",
        question=(
            "Tennessee's experiment with the sizes of classes: in which do children in kindergarten score "
            "best?"
        ),
        change=_star,
        options={"arm": "class", "environment": "school", "reward": "score"},
        pair=("small", "regular"),
        method="least squares with schools as blocks",
        textbook=least_squares,
        matching=SAME,
        why=(
            "The estimates are equal. The effect of small classes differs between schools, as the warning "
            "says. tideproof's answer is about schools like these, so this variation counts and the "
            "interval is almost twice as long. The textbook's answer is about these 79 schools."
        ),
    ),
    GalleryEntry(
        name="seizures",
        kind="units, skewed counts; no winner",
        package="MASS",
        item="epil",
        question=(
            "Does progabide reduce the seizures of 59 epileptics, who were each observed for four periods?"
        ),
        options={
            "arm": "trt",
            "environment": "period",
            "reward": "y",
            "unit": "subject",
            "direction": "minimize",
        },
        pair=("progabide", "placebo"),
        method="t-test of the means of patients",
        textbook=welch_t,
        why=(
            "Almost none: both let patients and not periods vary independently, and both find no "
            "difference. One patient with progabide had many more seizures than all others, which makes "
            "both intervals long."
        ),
    ),
    GalleryEntry(
        name="kiwis",
        kind="units, three environments",
        package="DAAG",
        item="kiwishade",
        question="Does shading change the yield of kiwis? Each plot of four vines had one kind of shade.",
        options={"arm": "shade", "environment": "block", "reward": "yield", "unit": "plot"},
        pair=("Aug2Dec", "none"),
        method="block analysis of the means of plots",
        textbook=cell_means,
        why=(
            "Almost none: both let plots and not vines vary independently. Three blocks allow only a "
            "statement about these blocks."
        ),
    ),
    GalleryEntry(
        name="toothpaste",
        kind="aggregated rows: means and standard deviations",
        package="HSAUR",
        item="toothpaste",
        question="Nine trials of two toothpastes: with which does caries grow less?",
        change=_toothpaste,
        options={
            "arm": "paste",
            "environment": "study",
            "reward": "mean",
            "n": "n",
            "sd": "sd",
            "direction": "minimize",
        },
        pair=("A", "B"),
        method="random-effects meta-analysis",
        textbook=random_effects_difference,
        why=(
            "tideproof compares by ratios and weights studies by their numbers of participants; the "
            "meta-analysis compares differences and gives more weight to precise studies. Neither is "
            "certain."
        ),
    ),
)
