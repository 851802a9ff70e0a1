"""Every empirical sentence of the paper, as a check."""

from tideproof.paper.claims import benchmarks, existing, reduction, theory
from tideproof.paper.verdicts import Claim

CLAIMS: tuple[Claim, ...] = (
    *existing.CLAIMS,
    *theory.CLAIMS,
    *benchmarks.CLAIMS,
    *reduction.CLAIMS,
)
