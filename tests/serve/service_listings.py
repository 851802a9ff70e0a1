"""A scripted shop behind HTTP and its store, as data: `python tests/serve/service_listings.py` rewrites it."""

import contextlib
import json
import pkgutil
import re
import sys
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent.parent))

from golden_data import Cases, numbers, rewrite
from serve.service_clients import Here, app_of
from store.stores import run_sql
from tideproof.serve.service_settings import Settings

FOLDER = Path(__file__).parent / "golden"
SHOP = "/v1/experiments/shop"
FLAGS = "/ofrep/v1/evaluate/flags"
VISITOR = {"context": {"targetingKey": "ann", "environment": "monday"}}

# Requests in order: name, method, path, body. {0} is the first pull of the last answer with pulls.
STEPS = [
    ("begin", "POST", "/v1/experiments", {"name": "shop", "arms": ["A", "B", "C"], "budget": 60, "seed": 3}),
    ("begin again", "POST", "/v1/experiments", {"name": "shop", "arms": ["A", "B", "C"]}),
    ("begin flags", "POST", "/v1/experiments",
     {"name": "page", "arms": ["A", "B"], "seed": 1, "lease": 3600, "reserve": 5, "default": 0.0,
      "rewards": "conversions", "confidence": 0.9}),
    ("wrong policy", "POST", "/v1/experiments", {"name": "x", "arms": ["A", "B"], "policy": "none"}),
    ("wrong field", "POST", "/v1/experiments", {"name": "x", "arms": ["A", "B"], "colour": 1}),
    ("list", "GET", "/v1/experiments", None),
    ("first page", "GET", "/v1/experiments?limit=1", None),
    ("last page", "GET", "/v1/experiments?limit=1&after=page", None),
    ("no page", "GET", "/v1/experiments?limit=0", None),
    ("nobody", "GET", "/v1/experiments/nobody", None),
    ("ask", "POST", SHOP + "/ask", {"environment": "monday", "n": 8}),
    ("tell", "POST", SHOP + "/tell",
     {"rewards": [{"pull": "{0}", "reward": 1.0}, {"pull": "{1}", "reward": 2.0},
                  {"pull": "{2}", "reward": 4.0}], "by": "ann"}),
    ("tell again", "POST", SHOP + "/tell", {"rewards": [{"pull": "{0}", "reward": 1.0}]}),
    ("correct", "POST", SHOP + "/correct", {"pull": "{1}", "reward": 2.5}),
    ("correct what is pending", "POST", SHOP + "/correct", {"pull": "{4}", "reward": 2.5}),
    ("cancel", "POST", SHOP + "/cancel", {"pulls": ["{3}"]}),
    ("pending", "GET", SHOP + "/pulls", None),
    ("pending, page", "GET", SHOP + "/pulls?limit=2", None),
    ("tell the rest", "POST", SHOP + "/tell",
     {"rewards": [{"pull": "{4}", "reward": 3.0}, {"pull": "{5}", "reward": 3.5}, {"pull": "{6}", "reward": 1.0},
                  {"pull": "{7}", "reward": 0.5}]}),
    ("summary", "POST", SHOP + "/tell-summary",
     {"arm": "B", "environment": "monday", "n": 12, "mean": 4.0, "variance": 1.0, "key": "mon-B"}),
    ("summary again", "POST", SHOP + "/tell-summary",
     {"arm": "B", "environment": "monday", "n": 12, "mean": 4.0, "variance": 1.0, "key": "mon-B"}),
    ("ask where it was", "POST", SHOP + "/ask", {}),
    ("shares", "GET", SHOP + "/shares?environment=tuesday", None),
    ("shares of many", "GET", SHOP + "/shares?number=7&n=4", None),
    ("recommendation", "GET", SHOP + "/recommendation", None),
    ("recommendation, flat", "GET", SHOP + "/recommendation?prior=flat", None),
    ("add an arm", "POST", SHOP + "/changes", {"change": "add-arm", "arm": "D"}),
    ("retire an arm", "POST", SHOP + "/changes", {"change": "retire-arm", "arm": "A"}),
    ("budget", "POST", SHOP + "/changes", {"change": "budget", "budget": 90}),
    ("pause", "POST", SHOP + "/changes", {"change": "pause", "why": "night"}),
    ("ask a paused one", "POST", SHOP + "/ask", {"environment": "monday"}),
    ("resume", "POST", SHOP + "/changes", {"change": "resume"}),
    ("note", "POST", SHOP + "/changes", {"change": "note", "text": "a sale", "by": "ann"}),
    ("no change", "POST", SHOP + "/changes", {"change": "explode"}),
    ("evaluate", "POST", "/v1/experiments/page/evaluations", {"unit": "ann", "environment": "monday"}),
    ("expose", "POST", "/v1/experiments/page/exposures", {"exposures": [{"unit": "ann"}]}),
    ("outcome", "POST", "/v1/experiments/page/outcomes",
     {"outcomes": [{"unit": "ann", "reward": 1.0, "key": "order 7"}]}),
    ("outcome again", "POST", "/v1/experiments/page/outcomes",
     {"outcomes": [{"unit": "ann", "reward": 1.0, "key": "order 7"}]}),
    ("outcome of a stranger", "POST", "/v1/experiments/page/outcomes", {"outcomes": [{"unit": "bob", "reward": 1.0}]}),
    ("flag", "POST", FLAGS + "/page", VISITOR),
    ("flag of another visitor", "POST", FLAGS + "/page", {"context": {"targetingKey": "eve", "environment": "monday"}}),
    ("flag without a visitor", "POST", FLAGS + "/page", {"context": {}}),
    ("no flag", "POST", FLAGS + "/none", VISITOR),
    ("flags", "POST", FLAGS, VISITOR),
    ("make a key", "POST", "/v1/keys", {"name": "robot", "role": "reporter"}),
    ("make a key of one", "POST", "/v1/keys", {"name": "one", "role": "viewer", "experiments": ["shop"]}),
    ("make no key", "POST", "/v1/keys", {"name": "x", "role": "king"}),
    ("keys", "GET", "/v1/keys", None),
    ("make a webhook", "POST", "/v1/webhooks", {"url": "https://93.184.216.34/hook", "experiments": ["shop"]}),
    ("make no webhook", "POST", "/v1/webhooks", {"url": "http://localhost/hook"}),
    ("webhooks", "GET", "/v1/webhooks", None),
    ("session", "GET", "/v1/session", None),
    ("events", "GET", SHOP + "/events", None),
    ("events, page", "GET", SHOP + "/events?after=3&limit=2", None),
    ("events after all", "GET", SHOP + "/events?after=99", None),
    ("export", "GET", SHOP + "/export", None),
    ("stop", "POST", SHOP + "/stop", {"why": "enough"}),
    ("stop again", "POST", SHOP + "/stop", {"why": "enough"}),
    ("ask a stopped one", "POST", SHOP + "/ask", {}),
    ("shop", "GET", SHOP, None),
    ("pause flags", "POST", "/v1/experiments/page/changes", {"change": "pause", "why": "night"}),
    ("flag while paused", "POST", FLAGS + "/page", {"context": {"targetingKey": "zoe", "environment": "monday"}}),
    ("stop flags", "POST", "/v1/experiments/page/stop", {}),
    ("flag when stopped", "POST", FLAGS + "/page", {"context": {"targetingKey": "zoe", "environment": "monday"}}),
    ("begin a clear one", "POST", "/v1/experiments",
     {"name": "clear", "arms": ["A", "B"], "seed": 1, "confidence": 0.975, "budget": 400}),
    ("many of A", "POST", "/v1/experiments/clear/tell-summary",
     {"arm": "A", "environment": "monday", "n": 50, "mean": 1.0, "variance": 1.0, "key": "A"}),
    ("many of B", "POST", "/v1/experiments/clear/tell-summary",
     {"arm": "B", "environment": "monday", "n": 50, "mean": 9.0, "variance": 1.0, "key": "B"}),
    ("clear recommendation", "GET", "/v1/experiments/clear/recommendation", None),
    ("page of a clear one", "GET", "/experiments/clear", None),
    ("health", "GET", "/healthz", None),
    ("ready", "GET", "/readyz", None),
    ("page of all", "GET", "/", None),
    ("page of the shop", "GET", "/experiments/shop", None),
    ("page of flags", "GET", "/experiments/page", None),
    ("report without rewards", "GET", "/experiments/page/report", None),
    ("report", "GET", "/experiments/shop/report", None),
    ("page of keys", "GET", "/keys", None),
    ("page of a new one", "GET", "/new", None),
    ("page of an upload", "GET", "/analyze", None),
    ("page of a login", "GET", "/login", None),
    ("no page there", "GET", "/nothing", None),
]  # fmt: skip
RANDOM = re.compile(r"\b[0-9a-f]{10,}\b|\d{4}-\d\d-\d\d[T ][\d:.]+Z?|\b\d{10}\.\d+\b|\b[kw][0-9a-f]{10}\b")
LEFT_OUT = {
    "at",
    "created",
    "made_at",
    "last_at",
    "created_at",
    "secret",
    "url",
    "eventStreams",
    "version",
    "tideproof",
    "python",
}


@cache
def played():
    """Play the script and return the answers by name and the rows of all tables of the store."""
    answers = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        here = Here(app_of(folder, time_zone="UTC"))
        pulls = []
        for step, method, path, body in STEPS:
            text = json.dumps(body)
            for number, pull in enumerate(pulls):
                text = text.replace(f"{{{number}}}", pull)
            found = here.request(method, path, **({} if body is None else {"json": json.loads(text)}))
            answers[step] = [found.status_code, found.headers["content-type"].split(";")[0], said(found)]
            if path.startswith(
                (FLAGS, "/v1/experiments/page/")
            ):  # the arm of a unit depends on a random salt
                text = json.dumps(answers[step]).replace('"A"', '"*"').replace('"B"', '"*"')
                answers[step] = json.loads(text)
            if step == "ask":
                pulls = [each["id"] for each in found.json()["pulls"]]
        here.close()
        rows = {
            "experiments": [[name] for name, _ in run_sql(folder, "SELECT name, about FROM experiments")],
            "events": run_sql(folder, "SELECT experiment, seq, pulls, record FROM events WHERE experiment = 1 ORDER BY 1, 2"),
            "answers": run_sql(folder, "SELECT experiment, seq, command FROM answers ORDER BY 1, 2"),
            "salts": run_sql(folder, "SELECT experiment, seq FROM salts ORDER BY 1, 2"),
            "writers": run_sql(folder, "SELECT DISTINCT experiment FROM writers ORDER BY 1"),
            "snapshots": run_sql(folder, "SELECT experiment, seq FROM snapshots ORDER BY 1, 2"),
            "keys": run_sql(folder, "SELECT name, role, experiments, made_by, revoked_by FROM api_keys ORDER BY 1"),
            "webhooks": run_sql(folder, "SELECT url, experiments, made_by FROM webhooks ORDER BY 1"),
        }  # fmt: skip
    return answers, {name: [[stable(x) for x in row] for row in each] for name, each in rows.items()}


def said(found):
    """Return what an answer says: JSON without sentences and random parts, or the numbers of a page."""
    if not found.content:
        return None
    if "json" in found.headers["content-type"]:
        return stable(found.json())
    body = found.text[found.text.find("<body") :]
    words = [part.split(">", 1) for part in body.split("<")[1:]]
    return [
        f"{head.split()[0]} {numbers(RANDOM.sub('', text))}".strip()
        for head, text in (pair for pair in words if len(pair) == 2)
        if not head.startswith(("/", "svg", "path", "polyg", "polyl", "line", "circle", "script", "style", "time", "footer"))
    ]  # fmt: skip


def stable(value):
    """Return JSON values without times and random ids, and sentences as their numbers."""
    if isinstance(value, dict):
        return {key: stable(each) for key, each in value.items() if key not in LEFT_OUT}
    if isinstance(value, list):
        return [stable(each) for each in value]
    if isinstance(value, float) and value > 1e9:  # a time
        return "*"
    if not isinstance(value, str):
        return value
    if value[:1] in ("{", "["):
        with contextlib.suppress(ValueError):
            return stable(json.loads(value))
    plain = RANDOM.sub("*", value)
    return numbers(plain) if plain.count(" ") > 2 else plain


BOUNDS = ("default", "minimum", "maximum", "minLength", "maxLength", "maxItems", "exclusiveMinimum")


@cache
def schema():
    """Return all defaults and bounds that the OpenAPI schema declares, by their path."""
    with TemporaryDirectory() as name:
        here = Here(app_of(name))
        found = dict(_bounds(here.app.openapi(), ""))
        here.close()
    return found


def _bounds(value, where):
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in parts:
        if key in BOUNDS and isinstance(each, (int, float)):
            yield f"{where}/{key}", each
        else:
            label = each["name"] if isinstance(each, dict) and "in" in each and "name" in each else key
            yield from _bounds(each, f"{where}/{label}")


def limits():
    """Return the public limits of the service, the store and the client: constants by module."""
    found = {}
    for package in ("serve", "store", "remote"):
        for each in pkgutil.walk_packages(
            [*resolve_name(f"tideproof.{package}").__path__], f"tideproof.{package}."
        ):
            if "postgres" in each.name or "openfeature" in each.name:
                continue
            module = vars(resolve_name(each.name))
            numbers = {
                k: v for k, v in module.items() if k.isupper() and k[0] != "_" and type(v) in (int, float)
            }
            if numbers:
                found[each.name] = numbers
    return dict(sorted(found.items()))


ANSWERS: Cases = {step[0]: lambda name=step[0]: played()[0][name] for step in STEPS}
TABLES = ("experiments", "events", "answers", "salts", "writers", "snapshots", "keys", "webhooks")
ROWS: Cases = {f"rows of {name}": lambda name=name: played()[1][name] for name in TABLES}
CASES: Cases = {
    **ANSWERS,
    **ROWS,
    "settings": lambda: vars(Settings()),
    "bounds of fields": schema,
    "limits": limits,
}

if __name__ == "__main__":
    rewrite(CASES, FOLDER / "service.json")
