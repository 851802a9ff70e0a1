"""How many pulls, for how long: the budget of a test before it begins, found by playing it.

`question` is what is asked, `pilot` takes a part of it from a log; `even` guesses by a formula, `search` plays
until the budget is found and `stopping` plays runs that stop when they are sure. `plan` puts it together.
"""
