"""List of the claims of a reproduced paper that simulations can check, in the order of its sections."""

from tideproof.research.paper.claim_verdicts import Claim
from tideproof.research.paper.claims import (
    benchmark_claims,
    estimator_claims,
    existing_policy_claims,
    proof_claims,
    reduce_to_mab_claims,
    requirement_claims,
    theorem_claims,
)

CLAIMS: tuple[Claim, ...] = (
    *existing_policy_claims.CLAIMS,
    *estimator_claims.CLAIMS,
    *theorem_claims.CLAIMS,
    *proof_claims.CLAIMS,
    *requirement_claims.CLAIMS,
    *benchmark_claims.CLAIMS,
    *reduce_to_mab_claims.CLAIMS,
)
