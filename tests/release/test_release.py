"""What `make release` tries, with what, and what it says; the trying itself is its own and not repeated here."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

import tideproof as tp

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "release"))

import built  # noqa: E402
import environments  # noqa: E402
import image  # noqa: E402
import licences  # noqa: E402
import pythons  # noqa: E402
import smoke  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = set(PROJECT["optional-dependencies"])
PAGE = (ROOT / "docs" / "release.md").read_text()
HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"


def test_every_extra_is_used_and_all_are_refused_where_they_are_not():
    assert set(smoke.USES) == EXTRAS - {"all"}
    assert EXTRAS - {"all", "docs"} == smoke.REFUSED
    assert set(smoke.COMMANDS) <= smoke.REFUSED


def test_an_extra_brings_others(monkeypatch, tmp_path):
    wheel = built.one("wheel", ROOT, tmp_path)
    said = licences.found([wheel])["tideproof"].requires
    monkeypatch.setattr(smoke.metadata, "requires", lambda name: said)
    assert smoke.brought([]) == set()
    assert smoke.brought(["plot"]) == {"plot"}
    assert smoke.brought(["serve"]) == {"serve", "store"}
    assert smoke.brought(["dask"]) == {"dask", "lab"}
    assert smoke.brought(["gpu"]) == {"gpu", "lab"}
    assert smoke.brought(["all"]) == EXTRAS - {"gpu", "docs"}


@pytest.mark.parametrize("extra", ["excel", "store"])
def test_what_works_here(extra, tmp_path):
    smoke.USES[extra](tmp_path)
    (tmp_path / "other").mkdir()
    with pytest.raises(AssertionError, match=f"{extra} is not installed, and works"):
        smoke.refused(extra, tmp_path / "other")


def test_a_refusal_must_be_one_line_that_names_the_extra(monkeypatch, tmp_path):
    def says(text):
        def use(folder):
            raise tp.errors.MissingExtra(text)

        monkeypatch.setitem(smoke.USES, "excel", use)

    says("reading needs calamine: pip install 'tideproof[excel]'")
    smoke.refused("excel", tmp_path)
    for wrong in (
        "no",
        "reading needs calamine: pip install 'tideproof[lab]'",
        "a\npip install 'tideproof[excel]'",
    ):
        says(wrong)
        with pytest.raises(AssertionError):
            smoke.refused("excel", tmp_path)


def test_this_python_is_found_and_none_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    (tmp_path / "versions" / "3.9.1" / "bin").mkdir(parents=True)
    shim = tmp_path / "versions" / "3.9.1" / "bin" / "python"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    assert pythons.find(["3.8", "3.9"]) == {}
    shim.unlink()
    (tmp_path / "versions" / f"{HERE}.0" / "bin").mkdir(parents=True)
    (tmp_path / "versions" / f"{HERE}.0" / "bin" / "python").symlink_to(sys.executable)
    assert set(pythons.find([HERE])) == {HERE}


def test_the_table_says_what_is_red_and_what_was_not_tried():
    tried = [
        environments.EnvironmentResult("3.11", "none", 1.25, ""),
        environments.EnvironmentResult("3.12", "none", 2.0, ""),
        environments.EnvironmentResult("3.11", "lab", 0.0, "no numba"),
    ]
    assert environments.table(tried, ["3.14"]).splitlines() == [
        "| | 3.11 | 3.12 | 3.14 |",
        "|---|---|---|---|",
        "| none | passed, 1.2 s | passed, 2.0 s | not found |",
        "| lab | failed: no numba | not tested | not found |",
    ]


def test_classifiers_name_the_pythons_that_passed():
    named = {
        line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", line)
    }
    head, _, *rows = [line for line in PAGE.splitlines() if line.startswith("|")]
    versions = re.findall(r"3\.\d+", head)
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert {row[0] for row in cells} == {"sdist", "none"} | EXTRAS
    passed = {
        version for i, version in enumerate(versions, 1) if all(row[i].startswith("passed") for row in cells)
    }
    assert passed == named
    assert set(versions) == set(pythons.WANTED)
    floor = SpecifierSet(PROJECT["requires-python"])
    oldest = min(named, key=lambda version: int(version[2:]))
    assert f"{oldest}.0" in floor
    assert f"3.{int(oldest[2:]) - 1}.9" not in floor


def test_the_image_has_the_python_extras_and_settings_of_its_recipe(tmp_path):
    assert image.python() in pythons.WANTED
    assert set(image.extras().split(",")) == {"serve", "postgres"}
    assert image.settings(tmp_path, 81) == {
        "TIDEPROOF_STORE": f"sqlite:///{tmp_path}/tideproof.db",
        "TIDEPROOF_HOST": "127.0.0.1",
        "TIDEPROOF_PORT": "81",
    }


def test_licences_of_all_that_is_installed_here_are_listed():
    text = (ROOT / "docs" / "licences.md").read_text()
    listed = {row[1]: row for line in text.splitlines() if len(row := line.split(" | ")) == 4}
    known, newest = licences.found(), pythons.WANTED[-1]
    for wanted in licences.groups().values():
        direct = {licences.canonicalize_name(licences.Requirement(each).name) for each in wanted} - {
            "tideproof"
        }
        assert direct <= set(listed)
        assert licences.closure(wanted, known, newest) <= set(listed), "run: make release"
    for name, row in listed.items():
        assert name == "cuda-toolkit" or "not said" not in row[3], row
        assert "not found" not in row[2], row
        if row[0].strip("| ") != "docs":  # builds the site, and goes with nothing
            assert not re.search(r"\b(A?GPL|GNU (Affero )?General)", row[3].replace("LGPL", "")), row


def package(folder, name, *lines):
    (folder / f"{name}-1.dist-info").mkdir()
    text = "\n".join(["Metadata-Version: 2.4", f"Name: {name}", "Version: 1", *lines])
    (folder / f"{name}-1.dist-info" / "METADATA").write_text(text + "\n")


def test_a_licence_is_what_a_package_says(tmp_path):
    osi = "Classifier: License :: OSI Approved"
    package(tmp_path, "new", "License-Expression: MIT", "License: other", f"{osi} :: BSD License")
    package(tmp_path, "old", "License: BSD", f"{osi} :: ISC License")
    package(tmp_path, "lazy", "License: UNKNOWN", osi, f"{osi} :: BSD License")
    package(tmp_path, "long", f"License: {'all of it ' * 20}", f"{osi} :: MIT License")
    package(tmp_path, "mute")
    known = licences.found([tmp_path])
    said = {name: licences.licence(each) for name, each in known.items()}
    assert said == {"new": "MIT", "old": "BSD", "lazy": "BSD License", "long": "MIT License", "mute": ""}


def test_what_a_package_brings_is_followed_with_extras_and_markers(tmp_path):
    package(
        tmp_path,
        "a",
        "Requires-Dist: b[fast]",
        "Requires-Dist: old; python_version < '3.12'",
        "Requires-Dist: x; extra == 'x'",
    )
    package(tmp_path, "b", "Requires-Dist: a", "Provides-Extra: fast", "Requires-Dist: C_d; extra == 'fast'")
    known = licences.found([tmp_path])
    assert licences.closure(["a>=1", "tideproof[lab]"], known, "3.13") == {"a", "b", "c-d"}
    assert licences.closure(["a"], known, "3.11") == {"a", "b", "c-d", "old"}
    assert licences.closure(["a[x]"], known, "3.13") == {"a", "b", "c-d", "x"}


def test_an_extra_that_there_is_not_is_refused_in_short():
    command = [sys.executable, ROOT / "tools" / "release", "--extras", "labs"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "invalid choice: 'labs'" in done.stderr
