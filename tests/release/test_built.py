"""What `make release` builds: both packages hold what they should and nothing else; and it would notice if not."""

import io
import re
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "release"))

import built  # noqa: E402

ABOUT = f"tideproof-{built.version()}.dist-info"


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    return built.build(tmp_path_factory.mktemp("dist"))


def changed(wheel, folder, change):
    """Return a copy of a wheel, the files of which were given to `change`."""
    files = built.files_of(wheel)
    change(files)
    with zipfile.ZipFile(folder / wheel.name, "w") as copy:
        for name, data in files.items():
            copy.writestr(name, data)
    return folder / wheel.name


def test_nothing_is_wrong_and_the_tree_gives_the_same_wheel_as_the_sdist(both, tmp_path):
    sdist, wheel = both
    assert built.faults(sdist, wheel) == []
    assert built.one("wheel", ROOT, tmp_path).read_bytes() == wheel.read_bytes()


def test_a_wheel_has_types_pages_and_styles_and_no_tests(both):
    names = set(built.files_of(both[1]))
    inside = {"py.typed", "draw/pictures.css", "serve/templates/base.html", "serve/static/pages.js"}
    assert {f"tideproof/{name}" for name in inside} <= names
    assert {name.split("/")[0] for name in names} == {"tideproof", ABOUT}
    assert not any("/test_" in name or "__pycache__" in name for name in names)


def test_what_was_there_before_goes(tmp_path):
    for old in ("tideproof-0.0.1-py3-none-any.whl", "tideproof-0.0.1.tar.gz"):
        (tmp_path / old).write_text("")
    (tmp_path / "notes.txt").write_text("mine")
    both = built.build(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"notes.txt", *(path.name for path in both)}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda files: files.pop("tideproof/py.typed"), "the wheel has no tideproof/py.typed"),
        (
            lambda files: files.update({"tests/test_a.py": b""}),
            "the wheel has tests/test_a.py, which does not belong to it",
        ),
        (
            lambda files: files.update({"tideproof/cli.py": b""}),
            "the wheel has different content in tideproof/cli.py",
        ),
        (lambda files: files.pop(f"{ABOUT}/entry_points.txt"), "the wheel has no command"),
        (lambda files: files.pop(f"{ABOUT}/licenses/LICENSE"), "the wheel has no licence"),
    ],
)
def test_a_wheel_that_is_not_whole_is_noticed(both, tmp_path, change, said):
    sdist, wheel = both
    assert built.faults(sdist, changed(wheel, tmp_path, change)) == [said]


def test_an_sdist_with_scratch_in_it_is_noticed(both, tmp_path):
    sdist, wheel = both
    copy = tmp_path / sdist.name
    with tarfile.open(copy, "w:gz") as archive:
        for name, data in {**built.files_of(sdist), "scratch.py": b""}.items():
            info = tarfile.TarInfo(f"tideproof-{built.version()}/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    assert built.faults(copy, wheel) == ["the sdist has scratch.py, which does not belong to it"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (f"Version: {built.version()}", "Version: 9.9", "metadata: Version is '9.9'"),
        (f"Version: {built.version()}", "Version: new", "metadata: .*version"),
        ("Requires-Python: >=3.11", "Requires-Python: >=3.8", "metadata: Requires-Python is '>=3.8'"),
        ("Provides-Extra: lab\n", "", "metadata: the extras differ from"),
        ("Provides-Extra: lab\n", "Provides-Extra: lab\nRequires-Dist: a @ https://b.org/a.whl\n", "is an address"),
        ("Provides-Extra: lab\n", "Provides-Extra: lab\nProject-URL: A, https://b.org/simple/\n", "of an index, '/simple'"),
    ],
)  # fmt: skip
def test_metadata_that_are_wrong_are_noticed(both, old, new, said):
    text = built.files_of(both[0])["PKG-INFO"].decode()
    assert built.metadata_faults(text) == []
    assert old in text
    [fault] = built.metadata_faults(text.replace(old, new))
    assert re.search(said, fault), fault
