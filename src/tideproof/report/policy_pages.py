"""Documentation page of each policy, generated from the policy's docstring by `make docs`.

Docstrings are Markdown; formulas are paragraphs indented by four spaces.
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

from tideproof.policies import reduce_to_mab
from tideproof.policies.policy_definition import Policy
from tideproof.policies.policy_registry import policy, policy_names
from tideproof.table import Table


def registered_policies() -> list[Policy]:
    """Return all registered policies, sorted by name."""
    return [policy(name).policy for name in policy_names()]


def overview() -> Table:
    """Return a table that describes every policy in one row.

    Its columns are the name, the idea, the need for a known budget, the handling of shifts and a reference.
    """
    every = registered_policies()
    return Table(
        {
            "name": [p.name for p in every],
            "idea": [p.idea for p in every],
            "horizon": ["needed" if p.needs_horizon else "no" for p in every],
            "shifts": [_shift_awareness(p) for p in every],
            "reference": [p.reference for p in every],
        }
    )


def shift_text(awareness: str) -> str:
    """Return "yes", "no" or "not affected": whether a policy adjusts for shifts.

    >>> [shift_text(word) for word in ("aware", "blind", "unaffected")]
    ['yes', 'no', 'not affected']
    """
    return {"aware": "yes", "blind": "no", "unaffected": "not affected"}[awareness]


def _shift_awareness(p: Policy) -> str:
    """Return in one word how a policy reacts to shifts: "aware", "blind" or "unaffected".

    "aware": it removes them. "blind": it mistakes them for differences of arms. "unaffected": its choices do
    not depend on rewards.
    """
    if not p.adaptive:
        return "unaffected"
    return "aware" if p.shift_aware else "blind"


def policy_page(p: Policy) -> str:
    """Return the documentation page of a policy as Markdown."""
    facts = {
        "needs the budget in advance": "yes" if p.needs_horizon else "no",
        "adjusts for shifts": shift_text(_shift_awareness(p)),
        "stops by itself": "yes" if p.stops else "no",
        "selections": ", ".join(f"`{rule.name}` ({rule.idea})" for rule in p.selections),
        "options": ", ".join(f"`{k}={v!r}`" for k, v in p.options().items()) or "none",
        "smallest budget": f"`{_smallest_budget(p)}` pulls for 5 arms",
        "reference": p.reference,
    }
    table = "\n".join(f"| {name} | {fact} |" for name, fact in facts.items())
    text = (sys.modules[p.configure.__module__].__doc__ or "").strip()
    return f"# `{p.name}`\n\n{text}\n\n| | |\n|---|---|\n{table}\n"


def _smallest_budget(p: Policy) -> int:
    """Return the smallest budget with which a policy can run with five arms."""
    options = {name: 0.0 if default is None else default for name, default in p.options().items()}
    if "hi" in options:
        options["hi"] = 1.0

    def least(budget: int) -> int:
        """Return the minimum number of pulls that a policy needs if it is configured for a given budget."""
        return p.minimum(5, p.configure(5, budget, p.selections[0].name, **options))

    return next(budget for budget in count(1) if least(budget) <= budget)


def policy_pages() -> dict[str, str]:
    """Return the documentation pages of all policies, and an index page, as Markdown by file name."""
    made = {f"{p.name}.md": policy_page(p) for p in registered_policies()}
    made["reduce.md"] = f"# `reduce:`\n\n{(reduce_to_mab.__doc__ or '').strip()}\n"
    links = [f"* [`{p.name}`]({p.name}.md): {p.idea}." for p in registered_policies()]
    links.append("* [`reduce:`](reduce.md): a prefix; runs any of them on rewards with the shifts removed.")
    made["README.md"] = "# Policies\n\nMade by `make docs` from the docstrings.\n\n" + "\n".join(links) + "\n"
    return made


def write_pages(folder: Path) -> None:
    """Write the Markdown page of every policy, and an index page, to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in policy_pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
