"""A live test: ask which arm to try next, tell what came back.

A call goes from `experiment`, which checks it, as one of the records of `events` to `state`, which folds it
into `book` (who was asked what) and `numbers` (what the policy knows, with the cells of `environments` for
fits). `saving` writes the events. What is read is copied under the lock and worked out outside of it:
`judgement`, `history`, `diagnostics`, `remarks`.
"""
