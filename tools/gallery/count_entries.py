"""Counts and shares: admissions, deaths, callbacks, insects, accidents."""

from __future__ import annotations

import pandas as pd

from gallery_entry import GalleryEntry
from textbook_analyses import (
    conditional_odds,
    mantel_haenszel,
    paired_t,
    quasi_binomial,
    quasi_poisson,
    random_effects_ratio,
    welch_t,
)


def _two_groups(frame: pd.DataFrame, study: str, **groups: tuple[str, str]) -> pd.DataFrame:
    """Return one row for each study and group, from a table with columns of events and totals per group."""
    parts = [
        pd.DataFrame({"study": frame[study], "group": name, "events": frame[events], "n": frame[total]})
        for name, (events, total) in groups.items()
    ]
    return pd.concat(parts)


def _berkeley(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each department and gender."""
    wide = frame.pivot(index=["Dept", "Gender"], columns="Admit", values="Freq").reset_index()
    return wide.assign(applicants=wide["Admitted"] + wide["Rejected"]).rename_axis(columns=None)


COUNTS = {"arm": "group", "environment": "study", "successes": "events", "n": "n"}

ENTRIES = (
    GalleryEntry(
        name="berkeley",
        kind="aggregated shares, Simpson's paradox; no winner",
        package="datasets",
        item="UCBAdmissions",
        question="Were men or women more often admitted to Berkeley in 1973, within departments?",
        change=_berkeley,
        options={"arm": "Gender", "environment": "Dept", "successes": "Admitted", "n": "applicants"},
        pair=("Female", "Male"),
        method="Mantel-Haenszel odds ratio",
        textbook=mantel_haenszel,
        why=(
            "The raw shares favour men; both analyses compare within departments, where women have a "
            "small and uncertain advantage. tideproof rejects odds ratios as a scale, because departments "
            "differ, most of all department A, and compares by ratios. Its interval is wider, because it "
            "is about departments like these, and the difference varies between them."
        ),
    ),
    GalleryEntry(
        name="gum",
        kind="aggregated shares, 26 studies",
        package="HSAUR",
        item="smoking",
        question="Does nicotine gum help to stop smoking?",
        change=lambda f: _two_groups(f, "rownames", gum=("qt", "tt"), control=("qc", "tc")),
        options=COUNTS,
        pair=("gum", "control"),
        method="random-effects risk ratio",
        textbook=random_effects_ratio,
        why=(
            "The lifts nearly agree. The meta-analysis weights studies by their precision, tideproof by "
            "their numbers of participants, which makes the interval wider where studies differ. tideproof "
            "also allows for the skewness of the differences between studies, and uses Student's instead of "
            "the normal distribution."
        ),
    ),
    GalleryEntry(
        name="bcg",
        kind="rare events, studies differ",
        package="HSAUR",
        item="BCG",
        question="Does vaccination with BCG prevent tuberculosis?",
        change=lambda f: _two_groups(
            f, "Study", vaccinated=("BCGTB", "BCGVacc"), unvaccinated=("NoVaccTB", "NoVacc")
        ),
        options=COUNTS | {"direction": "minimize"},
        pair=("vaccinated", "unvaccinated"),
        method="random-effects risk ratio",
        textbook=random_effects_ratio,
        published="Colditz and others (1994): relative risk 0.49, 95 % confidence interval 0.34 to 0.70.",
        why=(
            "Vaccination is better in both, but by different averages. The meta-analysis gives all "
            "studies nearly the same weight. tideproof weights environments by their rows, and half of "
            "these belong to study 8, in which vaccination did not help. So an average over environments "
            "like these stays uncertain. `--variance interaction` gives all studies nearly the same "
            "weight, but compares by differences."
        ),
    ),
    GalleryEntry(
        name="aspirin",
        kind="aggregated shares, an error in the data",
        package="HSAUR",
        item="aspirin",
        question="Does aspirin prevent deaths after a heart attack?",
        change=lambda f: _two_groups(
            f.assign(study=f["rownames"].str.extract(r":(\w+)")[0]),
            "study",
            aspirin=("da", "ta"),
            placebo=("dp", "tp"),
        ),
        options=COUNTS | {"direction": "minimize"},
        pair=("aspirin", "placebo"),
        method="random-effects risk ratio",
        textbook=random_effects_ratio,
        why=(
            "The study of 1976 has 64 deaths among 77 patients with placebo, and 44 among 757 with "
            "aspirin: presumably 77 lost its last digit. tideproof warns and names the cell, but its "
            "average over these studies includes it, as the meta-analysis does without a warning. "
            "`--robust cells` excludes the study; then no winner is left."
        ),
    ),
    GalleryEntry(
        name="seeds",
        kind="two environments, repeated aggregated rows",
        package="aod",
        item="orob2",
        question="On extract of which root do more seeds germinate? Each row is a batch of seeds.",
        options={"arm": "root", "environment": "seed", "successes": "y", "n": "n"},
        pair=("CUCUMBER", "BEAN"),
        method="logistic regression with measured scatter",
        textbook=quasi_binomial,
        why=(
            "tideproof compares by ratios and the textbook by odds, so that the estimates differ in "
            "meaning: 63 % and 37 % of the seeds germinate. Both let the scatter of batches beyond chance "
            "widen the interval. Crowder (1978) found that the effect depends on the kind of seeds, too; "
            "tideproof notes that no scale fits both kinds."
        ),
    ),
    GalleryEntry(
        name="indomethacin",
        kind="0/1 rewards, four hospitals",
        package="medicaldata",
        item="indo_rct",
        question="Does indomethacin prevent pancreatitis after an endoscopy?",
        change=lambda f: pd.DataFrame(
            {
                "drug": f["rx"].str.slice(2),
                "site": f["site"].str.slice(2),
                "pancreatitis": f["outcome"].str.startswith("1").astype(int),
            }
        ),
        options={
            "arm": "drug",
            "environment": "site",
            "reward": "pancreatitis",
            "direction": "minimize",
            "about": "these",
        },
        pair=("indomethacin", "placebo"),
        method="Mantel-Haenszel odds ratio",
        textbook=mantel_haenszel,
        published=(
            "Elmunzer and others (2012): 27 of 295 patients (9.2 %) and 52 of 307 (16.9 %), p = 0.005."
        ),
        why=(
            "tideproof's estimate is a ratio of shares, the textbook's an odds ratio, so the ratio is "
            "nearer to zero. The p-values agree. With most patients in two hospitals, a statement about "
            "hospitals like these is impossible, so the command asks for one about these."
        ),
    ),
    GalleryEntry(
        name="streptomycin",
        kind="0/1 rewards, three strata, exact",
        package="medicaldata",
        item="strep_tb",
        question="Does streptomycin help against tuberculosis, within patients of the same condition?",
        change=lambda f: pd.DataFrame(
            {
                "arm": f["arm"],
                "condition": f["baseline_condition"].str.slice(2),
                "improved": f["improved"].astype(int),
            }
        ),
        options={"arm": "arm", "environment": "condition", "reward": "improved"},
        pair=("Streptomycin", "Control"),
        method="conditional logistic regression",
        textbook=conditional_odds,
        published="Medical Research Council (1948): 38 of 55 patients and 17 of 52 improved.",
        why=(
            "The estimates agree. With few patients tideproof uses the exact conditional distribution, "
            "and the textbook a normal approximation, whose p-value is less extreme. The odds ratio "
            "within strata is far larger than that of all patients together, because the condition of "
            "patients predicts so much."
        ),
    ),
    GalleryEntry(
        name="callbacks",
        kind="0/1 rewards, 1,323 environments",
        package="openintro",
        item="labor_market_discrimination",
        question=(
            "The same resumes with white and Black names were sent to each of 1,323 employers. Which are "
            "called back?"
        ),
        change=lambda f: pd.DataFrame(
            {
                "name": f["race"].map({"w": "white", "b": "Black"}),
                "ad": f["ad_id"],
                "call": f["call"].astype(int),
            }
        ),
        options={"arm": "name", "environment": "ad", "reward": "call"},
        pair=("white", "Black"),
        method="paired t-test of the shares by employer",
        textbook=paired_t,
        published="Bertrand and Mullainathan (2004): 9.65 % and 6.45 % are called back, a ratio of 1.50.",
        why=(
            "The ratio of tideproof is the published one. The textbook's row is the difference of the two "
            "shares, about three percentage points. Both tests compare within employers."
        ),
    ),
    GalleryEntry(
        name="warpbreaks",
        kind="counts, two environments only; near tie",
        package="datasets",
        item="warpbreaks",
        question="At which tension does yarn of two kinds of wool break least?",
        options={"arm": "tension", "environment": "wool", "reward": "breaks", "direction": "minimize"},
        pair=("H", "M"),
        method="Poisson regression with measured scatter",
        textbook=quasi_poisson,
        why=(
            "Almost none: both estimate the ratio of means and the scatter beyond chance. With two "
            "environments, only a statement about these two kinds of wool is possible."
        ),
    ),
    GalleryEntry(
        name="insects",
        kind="counts, unequal noise, near tie",
        package="datasets",
        item="InsectSprays",
        question="Which of six sprays leaves the fewest insects?",
        options={"arm": "spray", "environment": None, "reward": "count", "direction": "minimize"},
        pair=("C", "E"),
        method="t-test with unequal variances",
        textbook=welch_t,
        why=(
            "The estimates are equal. Sprays with few insects have little noise. Welch's test takes the "
            "noise of each spray as measured; tideproof draws it towards the noise of all sprays, because "
            "each has only 12 counts, so its interval is wider. Neither separates C from E."
        ),
    ),
    GalleryEntry(
        name="traffic",
        kind="counts, 92 days",
        package="MASS",
        item="Traffic",
        question=(
            "Sweden tried speed limits on some days of 1961 and 1962. Are there fewer accidents with a limit?"
        ),
        change=lambda f: f.assign(limit=f["limit"].map({"yes": "limit", "no": "no limit"})),
        options={"arm": "limit", "environment": "day", "reward": "y", "direction": "minimize"},
        pair=("limit", "no limit"),
        method="Poisson regression with measured scatter",
        textbook=quasi_poisson,
        why=(
            "Almost none: both use only the 59 days of the calendar that had a limit in one of the years, "
            "and both allow for scatter beyond chance. tideproof's answer is about days like these."
        ),
    ),
)
