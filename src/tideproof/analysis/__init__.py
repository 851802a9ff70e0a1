"""Statistical analysis of a log: the fit, contrasts between arms, and the decision on the best arm."""

from tideproof.analysis.arm_comparisons import Contrast as Contrast
from tideproof.analysis.arm_comparisons import Decision as Decision
from tideproof.analysis.fit import fit as fit
from tideproof.analysis.fit_result import Fit as Fit
from tideproof.analysis.words.fit_text import ADAPTIVE as ADAPTIVE
