"""Plan a test before it begins: find by simulation how many pulls it needs and how long it takes.

`plan_question` holds the parameters of the test, some of which `pilot_study` estimates from a log.
`even_split` computes a first guess by a formula. `budget_search` looks for the smallest sufficient budget by
simulations that `plan_simulation` runs; `stopping_time` simulates tests that stop early. `planner` combines
them, and `plan_result` is the result.
"""
