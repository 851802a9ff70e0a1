"""What stands beside the code is true: versions, paths, why each dependency is there, the checks before a commit."""

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import tideproof as tp

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "tideproof"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

IMPORTED_AS = {
    "python-multipart": "python_multipart",
    "numba-cuda": "numba.cuda",
    "python-calamine": "python_calamine",
    "prometheus-client": "prometheus_client",
    "openfeature-provider-ofrep": "openfeature",
}
GROUPS = {"dependencies": PROJECT["project"]["dependencies"], **PROJECT["project"]["optional-dependencies"]}


def comments():
    """Return what `pyproject.toml` says behind each dependency."""
    said = {}
    for line in (ROOT / "pyproject.toml").read_text().splitlines():
        found = re.search(r'"([\w-]+)(?:\[\w+\])?>=[^"]*"\]?,?\s+# (.+)', line)
        if found:
            said[found[1]] = found[2]
    return said


def places(comment):
    return re.findall(r"[\w./-]+(?:\.py|\.md|/)(?![\w.])", comment)


def importers(package):
    """Return the files of the package that import another, wherever they do."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            if any(name == package or name.startswith(f"{package}.") for name in names):
                found.add(path.relative_to(PACKAGE).as_posix())
    return found


def test_there_is_something_to_check():
    assert {"scipy", "narwhals", "duckdb", "matplotlib", "numba", "numba-cuda", "psycopg"} <= set(comments())


@pytest.mark.parametrize("name", comments())
def test_every_place_named_behind_a_dependency_exists(name):
    for place in places(comments()[name]):
        assert (PACKAGE / place).exists() or (ROOT / place).exists(), place


@pytest.mark.parametrize("name", [n for n, said in comments().items() if n in str(GROUPS) and places(said)])
def test_a_dependency_is_imported_where_its_comment_says_and_nowhere_else(name):
    named = [place for place in places(comments()[name]) if (PACKAGE / place).exists()]
    where = importers(IMPORTED_AS.get(name, name))
    for place in named:
        assert any(file.startswith(place) for file in where), f"{place} does not import {name}"
    assert {file for file in where if not any(file.startswith(place) for place in named)} == set()


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md"])
def test_every_path_in_a_page_exists(page):
    text = (ROOT / page).read_text()
    linked = [target for target in re.findall(r"\]\(([^)#]+)", text) if "://" not in target]
    named = re.findall(r"`((?:src|tests|docs|tools|benchmarks)/[\w./-]*|[\w-]+\.(?:md|toml|cff))`", text)
    assert linked
    for path in linked + named:
        assert (ROOT / path).exists(), path


def test_the_table_of_packages_is_the_order_in_which_they_may_import():
    table = (ROOT / "CONTRIBUTING.md").read_text().split("| package | contains |")[1].split("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`([a-z]+)(?:/|\.py)`", row)]
    layers = PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
    order = {name: i for i, layer in enumerate(layers) for name in re.findall(r"\w+", layer)}
    assert [order[name] for name in named] == sorted(order[name] for name in named)
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert set(named) == packages | {"cli", "plugin"}


def test_files_on_the_three_paths_exist():
    paths = (
        (ROOT / "CONTRIBUTING.md").read_text().split("Three paths through the files")[1].split("| to add")[0]
    )
    named = re.findall(r"`([a-z_/]+\.py)`", paths)
    assert len(named) > 20
    assert [name for name in named if not ((PACKAGE / name).exists() or (ROOT / name).exists())] == []


def test_lines_for_contributors_are_short_except_in_tables():
    lines = (ROOT / "CONTRIBUTING.md").read_text().splitlines()
    assert [line for line in lines if len(line) >= 130 and not line.startswith("|")] == []


def changes():
    """Return the rows of the tables of changes in `CONTRIBUTING.md`."""
    text = (ROOT / "CONTRIBUTING.md").read_text().split("## Where to make a change")[1].split("\n## ")[0]
    return [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| to add")]


@pytest.mark.parametrize("row", changes(), ids=lambda row: row.split("|")[1].strip())
def test_places_of_a_change_exist_and_contain_the_names_beside_them(row):
    words = re.findall(r"`([^`]+)`", row)
    paths = [
        re.sub("#.*", "", word)
        for word in words
        if " " not in word and ("/" in word or word.endswith(".toml"))
    ]
    named = [word for word in words if re.fullmatch(r"[\w.]+", word) and word not in paths]
    found = [next((top / path for top in (PACKAGE, ROOT) if (top / path).exists()), path) for path in paths]
    assert [path for path in found if isinstance(path, str)] == []
    files = [file for path in found for file in ([path] if path.is_file() else path.rglob("*.py"))]
    text = "\n".join(file.read_text() for file in files)
    parts = [part for name in named for part in name.split(".")]
    assert [part for part in parts if not re.search(rf"\b{part}\b", text)] == []


def test_tests_named_for_contributors_exist():
    for file in re.findall(r"pytest ((?:tests|src)/[\w./]+)", (ROOT / "CONTRIBUTING.md").read_text()):
        assert (ROOT / file).exists(), file


def test_the_readme_leads_to_contributing():
    assert "(CONTRIBUTING.md)" in (ROOT / "README.md").read_text()


def test_every_target_of_make_that_is_named_exists():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]
    named = {word for page in pages for word in re.findall(r"`make ([\w-]+)", page.read_text())}
    assert "test" in named
    assert named <= targets


def test_the_citation_has_the_version_and_the_paper():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == tp.__version__
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["license"] == PROJECT["project"]["license"]
    [paper] = citation["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Srisawad", "Branke", "Tran-Thanh"]
    number = PROJECT["project"]["urls"]["Paper"].rsplit("/", 1)[1]
    assert paper["identifiers"][0]["value"] == f"10.48550/arXiv.{number}"


def test_hooks_run_what_make_check_runs_from_the_same_environment():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    hooks = {hook["id"]: hook["entry"] for hook in config["repos"][0]["hooks"]}
    recipe = dict(re.findall(r"^([\w-]+):.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE))
    beside = re.search(r"\t@\$\(MAKE\) --no-print-directory -j 2 (.*)\n", recipe["check"])
    checks = recipe["check"].replace(beside[0], "") + "".join(recipe[name] for name in beside[1].split())
    wanted = [line.removeprefix("\t$(BIN)/").removesuffix(" .") for line in checks.splitlines()]
    ours = [entry.removeprefix(".venv/bin/").removesuffix(" --force-exclude") for entry in hooks.values()]
    assert [command.removesuffix(" --check") for command in wanted] == ours


def test_no_address_of_a_package_index_is_in_the_repository():
    listed = subprocess.run(
        ["git", "ls-files", "*.toml", "*.txt", "*.md", "*.cff", "*.yaml", "Makefile"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        pytest.skip("not a clone")
    for name in listed.stdout.split():
        assert not re.search(r"https?://[\w.-]*(pypi|pythonhosted|/simple\b)", (ROOT / name).read_text()), (
            name
        )
