"""Files are written whole or not at all, and the system's refusals are said in words."""

import pytest

from tideproof.errors import InputError, MissingFile
from tideproof.files import replace_atomically, write_text_atomically


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "x.txt"
    for text in ("one\n", "two\n"):
        write_text_atomically(path, text)
        assert path.read_text() == text
    assert [each.name for each in tmp_path.iterdir()] == ["x.txt"]


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), ZeroDivisionError()])
def test_what_goes_wrong_while_writing_leaves_the_old_file(tmp_path, problem):
    path = tmp_path / "x.txt"
    path.write_text("old")

    def half_done():
        with replace_atomically(path) as beside:
            beside.write_text("half")
            raise problem

    with pytest.raises(type(problem)):
        half_done()
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("x.txt", "old")]


def test_a_system_that_refuses_is_quoted(tmp_path):
    path = tmp_path / "x.txt"
    with (
        pytest.raises(InputError, match=r"^cannot write '.*x.txt': No space left$"),
        replace_atomically(path),
    ):
        raise OSError(28, "No space left")
    with pytest.raises(InputError, match=r"^cannot write '.*x.txt': no reason$"), replace_atomically(path):
        raise OSError("no reason")
    with (
        pytest.raises(InputError, match=r"^cannot write '.*x.txt': No such file or directory$"),
        replace_atomically(path),
    ):
        pass  # nothing was written
    assert not list(tmp_path.iterdir())


def test_what_is_said_in_words_stays_as_it_is(tmp_path):
    with pytest.raises(MissingFile, match=r"^there is no log$"), replace_atomically(tmp_path / "x.txt"):
        raise MissingFile("there is no log")
