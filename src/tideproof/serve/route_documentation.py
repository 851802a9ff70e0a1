"""Markdown table of all routes and the roles that may call them.

`python -m tideproof.serve.route_documentation` prints it.
"""

from __future__ import annotations

from tideproof.serve.app import PAGES, ROUTERS
from tideproof.serve.auth.access_control import routes_and_rights
from tideproof.serve.auth.roles import ROLES, Right


def table() -> str:
    """Return a Markdown table of all routes and the roles that may call them."""
    lines = [f"| route | {' | '.join(ROLES)} |", "|---|" + "---|" * len(ROLES)]
    for router in (*ROUTERS, *PAGES):
        for method, path, right in routes_and_rights(router):
            marks = [
                "open" if right is Right.OPEN else "yes" if right in had else "" for had in ROLES.values()
            ]
            lines.append(f"| `{method} {path}` | {' | '.join(marks)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
