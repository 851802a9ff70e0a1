"""From cells to answers: the fit, its contrasts, and the one decision that everything else shows."""

from tideproof.estimate.contrast import Contrast as Contrast
from tideproof.estimate.decision import Decision as Decision
from tideproof.estimate.fitted import Fit as Fit
from tideproof.estimate.from_log import fit as fit
from tideproof.estimate.verdict import ADAPTIVE as ADAPTIVE
