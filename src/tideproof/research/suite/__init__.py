"""The suite: fixed held-out worlds on which policies are compared with rivals."""
