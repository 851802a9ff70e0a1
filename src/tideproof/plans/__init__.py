"""How many pulls, for how long: the budget of a test before it begins, found by playing it.

`question` is what is asked, `pilot` takes a part of it from a log; `even` guesses by a formula, `search`
looks for the least budget, which `play` plays, and `stopping` plays runs that stop when they are sure.
`plan` puts it together, `found` is the answer.
"""
