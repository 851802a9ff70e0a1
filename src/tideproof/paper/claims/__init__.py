"""Every empirical sentence of the paper, as a check."""

from tideproof.paper.claims import benchmarks, estimator, existing, proof, reduction, requirements, theory
from tideproof.paper.verdicts import Claim

CLAIMS: tuple[Claim, ...] = (
    *existing.CLAIMS,
    *estimator.CLAIMS,
    *theory.CLAIMS,
    *proof.CLAIMS,
    *requirements.CLAIMS,
    *benchmarks.CLAIMS,
    *reduction.CLAIMS,
)
