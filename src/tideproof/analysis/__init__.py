"""Statistical analysis of the log of a test: estimates, differences between arms, and the best arm."""

from tideproof.analysis.arm_comparisons import Contrast as Contrast
from tideproof.analysis.arm_comparisons import Decision as Decision
from tideproof.analysis.fit import fit as fit
from tideproof.analysis.fit_result import Fit as Fit
from tideproof.analysis.words.fit_text import ADAPTIVE as ADAPTIVE
