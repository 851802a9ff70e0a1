"""Designed experiments with blocks: pairs, whole blocks, incomplete blocks, Latin squares and split plots."""

from __future__ import annotations

from gallery_entry import GalleryEntry
from textbook_analyses import cell_means, least_squares, paired_t, welch_t

SAME = {"variance": "common", "about": "these", "scale": "difference"}  # the model of least squares

ENTRIES = (
    GalleryEntry(
        name="shoes",
        kind="pairs",
        package="MASS",
        item="shoes",
        question=(
            "Ten boys wore a sole of material A on one foot and of material B on the other. Which wears less?"
        ),
        change=lambda frame: frame.assign(boy=range(1, 11))[["boy", "A", "B"]],
        options={"wide": ("A", "B"), "environment": "boy", "direction": "minimize"},
        pair=("A", "B"),
        method="paired t-test",
        textbook=paired_t,
        matching={},
        published="Box, Hunter and Hunter, Statistics for Experimenters: mean difference 0.41, t = 3.35.",
        why=(
            "None: with two arms and one reward of each in every environment, and noise that does not "
            "differ clearly, tideproof's comparison is the paired t-test."
        ),
    ),
    GalleryEntry(
        name="sleep",
        kind="pairs",
        package="datasets",
        item="sleep",
        question="Ten patients took two drugs. Which one gives more hours of additional sleep?",
        options={"arm": "group", "environment": "ID", "reward": "extra"},
        pair=(2, 1),
        method="paired t-test",
        textbook=paired_t,
        matching=SAME,
        published="Student (1908); the help page of the data set in R: t = -4.0621, p = 0.002833.",
        why=(
            "None: with two arms and one reward of each in every environment, tideproof's comparison is "
            "the paired t-test. One patient's difference, 4.6 hours, is far from the others', which "
            "neither of the two analyses corrects for."
        ),
    ),
    GalleryEntry(
        name="maize",
        kind="pairs, uneven",
        package="HistData",
        item="ZeaMays",
        question=(
            "Darwin grew 15 pairs of maize plants: do crossed plants grow taller than self-fertilized ones?"
        ),
        options={"wide": ("cross", "self"), "environment": "pair"},
        pair=("cross", "self"),
        method="paired t-test",
        textbook=paired_t,
        matching=SAME,
        published="Fisher, The Design of Experiments: t = 2.148, just beyond the 5 % point.",
        why=(
            "tideproof compares by ratios, which fit slightly better here, so its estimate is a lift. "
            "Both tests are just beyond the 5 % point. Neither scale fits well: some pairs have large "
            "negative differences."
        ),
    ),
    GalleryEntry(
        name="stools",
        kind="near tie",
        package="nlme",
        item="ergoStool",
        question="Nine subjects rose from four types of stools. Which type takes the least effort?",
        options={"arm": "Type", "environment": "Subject", "reward": "effort", "direction": "minimize"},
        pair=("T1", "T4"),
        method="least squares with subjects as blocks",
        textbook=least_squares,
        matching=SAME,
        published=(
            "Pinheiro and Bates, Mixed-Effects Models in S and S-PLUS: T1 has mean 8.556; T2, T3 and T4 "
            "are 3.889, 2.222 and 0.667 above it."
        ),
        why=(
            "Both see a near tie of T1 and T4. Least squares pools the noise of all types; tideproof "
            "measures how much the difference of these two varies between subjects, which leaves fewer "
            "degrees of freedom."
        ),
    ),
    GalleryEntry(
        name="machines",
        kind="additivity fails",
        package="nlme",
        item="Machines",
        question=(
            "Six workers used three machines, three times each. Which machine gives the highest productivity?"
        ),
        options={"arm": "Machine", "environment": "Worker", "reward": "score"},
        pair=("C", "B"),
        method="analysis of variance of the means of worker and machine",
        textbook=cell_means,
        matching={"variance": "interaction"},
        published="Pinheiro and Bates: machines B and C are 7.967 and 13.917 above machine A.",
        why=(
            "Worker 6 is much slower with machine B than the others. The textbook takes the interaction "
            "of workers and machines to be equally large for all pairs of machines. tideproof by default "
            "measures it for B and C alone, so it is less certain about other workers; the model that its "
            "warning recommends is the textbook's."
        ),
    ),
    GalleryEntry(
        name="penicillin",
        kind="many blocks",
        package="lme4",
        item="Penicillin",
        question=(
            "Six samples of penicillin were assayed on each of 24 plates. Which sample is the strongest?"
        ),
        options={"arm": "sample", "environment": "plate", "reward": "diameter"},
        pair=("A", "C"),
        method="least squares with plates as blocks",
        textbook=least_squares,
        matching=SAME,
        why=(
            "The estimates are equal, and both find that A and C cannot be separated. Least squares pools "
            "the noise of all samples; tideproof measures how much the difference of A and C varies "
            "between plates, which is a little less."
        ),
    ),
    GalleryEntry(
        name="orchard",
        kind="two factors, unequal noise",
        package="datasets",
        item="OrchardSprays",
        question=(
            "Eight sprays in an 8 x 8 Latin square. Which one lets bees take the least sugar solution?"
        ),
        options={
            "arm": "treatment",
            "environment": "rowpos + colpos",
            "reward": "decrease",
            "direction": "minimize",
        },
        pair=("A", "B"),
        method="least squares of the Latin square",
        textbook=least_squares,
        matching={"variance": "common"},
        why=(
            "The estimates are equal. tideproof lets the noise of sprays differ, which shortens this "
            "interval a little. The interval in its answer is longer than the one in the table, because "
            "it allows for the choice of the two best of eight sprays. The noise is far smaller for A and "
            "B than for the other sprays, which neither analysis uses to the full."
        ),
    ),
    GalleryEntry(
        name="npk",
        kind="covariates",
        package="datasets",
        item="npk",
        question=(
            "Does nitrogen (N) increase the yield of peas, in six blocks in which phosphate and potash "
            "vary, too?"
        ),
        options={"arm": "N", "environment": "block", "reward": "yield", "covariates": ("P", "K")},
        pair=(1, 0),
        method="least squares with blocks, P and K",
        textbook=least_squares,
        matching={"variance": "common", "about": "these"},
        published="Venables and Ripley, Modern Applied Statistics with S: nitrogen adds 5.617.",
        why=(
            "The estimates are equal. tideproof's answer is about blocks like these: it is based on the "
            "differences of six blocks. The textbook's answer is about these six blocks, and uses the "
            "noise of all plots."
        ),
    ),
    GalleryEntry(
        name="immer",
        kind="blocks, levels multiply",
        package="MASS",
        item="immer",
        question=(
            "Five varieties of barley at six locations. Which has the highest yield, on average of two years?"
        ),
        change=lambda frame: frame.assign(**{"yield": (frame["Y1"] + frame["Y2"]) / 2}),
        options={"arm": "Var", "environment": "Loc", "reward": "yield"},
        pair=("T", "P"),
        method="least squares with locations as blocks",
        textbook=least_squares,
        matching=SAME,
        why=(
            "Varieties differ more where yields are high, so tideproof compares by ratios, and the lift "
            "is about yields in other locations, too, for which the difference of T and P is not certain. "
            "The textbook's answer is about the difference in these six locations and for two varieties "
            "named in advance."
        ),
    ),
    GalleryEntry(
        name="barley",
        kind="ten arms, a tie",
        package="lattice",
        item="barley",
        question="Ten varieties of barley at six sites in two years. Which has the highest yield?",
        options={"arm": "variety", "environment": "site:year", "reward": "yield"},
        pair=("Trebi", "No. 462"),
        method="least squares with sites and years as blocks",
        textbook=least_squares,
        matching=SAME,
        why=(
            "tideproof compares by ratios, because varieties differ more where yields are high. The "
            "p-values of a pair named in advance agree. The question for the best variety has another "
            "answer: Trebi and Wisconsin No. 38 are tied, and three more cannot be excluded, among them "
            "No. 462, because the best was chosen among ten."
        ),
    ),
    GalleryEntry(
        name="oats-nitrogen",
        kind="split plot, arms within plots",
        package="MASS",
        item="oats",
        question=(
            "Four amounts of nitrogen, one on each part of 18 plots. Which gives the highest yield of oats?"
        ),
        options={"arm": "N", "environment": "B:V", "reward": "Y"},
        pair=("0.6cwt", "0.4cwt"),
        method="least squares with whole plots as blocks",
        textbook=least_squares,
        matching=SAME,
        why=(
            "The estimates are equal. tideproof measures how much the difference of these two amounts "
            "varies between plots, and the textbook pools all amounts. tideproof names no winner, because "
            "its test is about plots like these and about the best of four amounts. The textbook's "
            "p-value is for two amounts named in advance."
        ),
    ),
    GalleryEntry(
        name="oats-variety",
        kind="split plot, whole plots; no winner",
        package="MASS",
        item="oats",
        question="The same plots: which of the three varieties has the highest yield?",
        options={"arm": "V", "environment": "B", "reward": "Y"},
        pair=("Marvellous", "Golden.rain"),
        method="analysis of variance of the means of whole plots",
        textbook=cell_means,
        matching={"variance": "interaction"},
        published=(
            "Venables and Ripley: varieties do not differ clearly (F = 1.49 on 2 and 10 degrees of freedom)."
        ),
        why=(
            "Both find no difference. tideproof measures the variation between blocks for this pair "
            "alone, with fewer degrees of freedom than the textbook, which pools all pairs; with "
            "`--variance interaction` it does the same."
        ),
    ),
    GalleryEntry(
        name="cake",
        kind="split plot, whole plots",
        package="lme4",
        item="cake",
        question=(
            "Three recipes of chocolate cake, 15 times each at six temperatures. Which bends furthest "
            "before it breaks?"
        ),
        options={"arm": "recipe", "environment": "replicate", "reward": "angle"},
        pair=("A", "B"),
        method="analysis of variance of the means of recipe and replicate",
        textbook=cell_means,
        matching={"variance": "interaction"},
        why=(
            "Both find no difference between recipes, although 90 cakes of each were baked: the six cakes "
            "of a recipe and replicate came from one batch, and tideproof's statements about replicates "
            "like these allow for that, too."
        ),
    ),
    GalleryEntry(
        name="meat",
        kind="incomplete blocks of two",
        package="nlme",
        item="Meat",
        question=(
            "Six times of storage, two in each of 15 pairs of roasts. After how many days is beef the "
            "most tender?"
        ),
        options={"arm": "Storage", "environment": "Pair", "reward": "score"},
        pair=(9, 18),
        method="intra-block least squares with pairs as blocks",
        textbook=least_squares,
        matching=SAME,
        why=(
            "The estimates are equal: both adjust each storage time for the pairs in which it was "
            "compared, so they differ from raw means. Least squares pools the noise; tideproof measures "
            "the variation of this comparison, which is a little smaller here."
        ),
    ),
    GalleryEntry(
        name="apples",
        kind="incomplete blocks of three",
        package="DAAG",
        item="appletaste",
        question=(
            "Each of 20 tasters rated three of four varieties of apples. Which has the best aftertaste?"
        ),
        options={"arm": "product", "environment": "panelist", "reward": "aftertaste"},
        pair=(493, 298),
        method="intra-block least squares with tasters as blocks",
        textbook=least_squares,
        matching=SAME,
        why=(
            "tideproof compares by ratios, because products differ more where tasters give high marks. "
            "Least squares compares by differences. Both leave open whether 493 is better than 298."
        ),
    ),
    GalleryEntry(
        name="wheat",
        kind="56 arms, no winner",
        package="nlme",
        item="Wheat2",
        question="56 varieties of wheat in four blocks. Which has the highest yield?",
        options={"arm": "variety", "environment": "Block", "reward": "yield"},
        pair=("NE86503", "NE87619"),
        method="least squares with four blocks",
        textbook=least_squares,
        matching=SAME,
        why=(
            "Both find no difference between 56 varieties. The textbook's interval is for two varieties "
            "named in advance; the one in tideproof's answer allows for the choice of two of 56, with "
            "only four blocks. Wheat2 is known for trends within blocks, which neither of the two "
            "analyses models."
        ),
    ),
    GalleryEntry(
        name="guns",
        kind="clear winner",
        package="nlme",
        item="Gun",
        question="Nine teams fired naval guns by two methods, twice each. Which method is faster?",
        options={"arm": "Method", "environment": "Team", "reward": "rounds"},
        pair=("M1", "M2"),
        method="paired t-test of the means of teams",
        textbook=paired_t,
        matching={},
        why="None: each team counts as one difference in both analyses.",
    ),
    GalleryEntry(
        name="ants",
        kind="blocks with repeated rows",
        package="Stat2Data",
        item="SandwichAnts",
        question=(
            "Which filling of a sandwich attracts most ants, over four kinds of bread with and without "
            "butter?"
        ),
        options={"arm": "Filling", "environment": "Bread:Butter", "reward": "Ants"},
        pair=("HamPickles", "PeanutButter"),
        method="least squares with kinds of bread as blocks",
        textbook=least_squares,
        matching=SAME,
        why=(
            "The estimates are equal. tideproof's answer is about kinds of bread like these eight, so the "
            "variation of the difference between kinds counts. The textbook's answer is about these "
            "eight, and uses the noise of all sandwiches. Both find the same winner."
        ),
    ),
    GalleryEntry(
        name="teeth",
        kind="three environments, additivity fails",
        package="datasets",
        item="ToothGrowth",
        question=(
            "Orange juice (OJ) or ascorbic acid (VC), at three doses of vitamin C: which lets teeth grow "
            "longer?"
        ),
        options={"arm": "supp", "environment": "dose", "reward": "len"},
        pair=("OJ", "VC"),
        method="least squares with doses as blocks",
        textbook=least_squares,
        matching={},
        why=(
            "None in numbers: three environments allow only a statement about these doses, which is the "
            "textbook's. Both average over doses although the advantage of orange juice disappears at the "
            "highest dose; tideproof notes that neither differences nor ratios fit."
        ),
    ),
    GalleryEntry(
        name="poisons",
        kind="three environments, levels multiply",
        package="boot",
        item="poisons",
        question="Four treatments against three poisons. With which do animals survive longest?",
        options={"arm": "treat", "environment": "poison", "reward": "time"},
        pair=("B", "D"),
        method="least squares with poisons as blocks",
        textbook=least_squares,
        matching=SAME,
        why=(
            "Survival times multiply: treatments differ more where animals live longer, and so does the "
            "noise. tideproof compares by ratios. Least squares of the times assumes equal noise, which "
            "is the reason why Box and Cox (1964) analysed the reciprocals of these times."
        ),
    ),
    GalleryEntry(
        name="light",
        kind="five arms",
        package="datasets",
        item="morley",
        question=(
            "Michelson measured the speed of light in five experiments of 20 runs. Which gave the highest "
            "speed?"
        ),
        options={"arm": "Expt", "environment": "Run", "reward": "Speed"},
        pair=(1, 2),
        method="least squares with runs as blocks",
        textbook=least_squares,
        matching=SAME,
        why=(
            "The estimates are equal. The first experiment is the noisiest one, and least squares gives "
            "the five experiments the same noise. tideproof measures how the difference of these two "
            "varies between runs, so its interval is longer."
        ),
    ),
    GalleryEntry(
        name="grocery",
        kind="arms never side by side: not comparable",
        package="Stat2Data",
        item="Grocery",
        question="Twelve stores gave discounts of 5, 10 or 15 %. Which discount sells most?",
        options={"arm": "Discount", "environment": "Store", "reward": "Sales"},
        pair=("15.00%", "5.00%"),
        method="t-test of the means of stores",
        textbook=lambda rows, options, pair: welch_t(rows, {**options, "unit": "Store"}, pair),
        why=(
            "Each store had one discount, so differences between stores and between discounts cannot be "
            "told apart within stores, and tideproof refuses the comparison. The textbook compares "
            "stores, which is valid if discounts were assigned to stores at random; without "
            "`--environment`, and with `--unit Store`, tideproof does so, too."
        ),
    ),
)
