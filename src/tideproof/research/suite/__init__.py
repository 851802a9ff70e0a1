"""The suite: fixed held-out worlds in which a policy is compared with rival policies."""
