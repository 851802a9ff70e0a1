"""A test suite for policies: fixed simulated worlds in which a policy is compared with rivals."""
