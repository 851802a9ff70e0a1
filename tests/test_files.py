"""Files are written completely or not at all, and error messages contain the reason of a failure."""

import gc

import pytest

from tideproof.errors import InputError, MissingFile
from tideproof.files import (
    check_picture_path,
    check_writable,
    is_store_open,
    mark_store_closed,
    mark_store_open,
    read_text,
    replace_atomically,
    require_path,
    write_text_atomically,
)


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


def test_paths_are_texts_or_path_objects(tmp_path):
    assert require_path(tmp_path) == str(tmp_path)
    assert require_path("a.txt") == "a.txt"
    for value in (None, 3, b"a.txt", "a\0b"):
        with pytest.raises(InputError, match=r"must be a string or a pathlib\.Path, not "):
            require_path(value)


def test_a_missing_file_or_folder_cannot_be_read(tmp_path):
    (tmp_path / "x.txt").write_text("±", encoding="utf-8")
    assert read_text(tmp_path / "x.txt") == "±"
    with pytest.raises(MissingFile, match=r"cannot read '.*none\.txt'"):
        read_text(tmp_path / "none.txt")
    with pytest.raises(InputError, match=r"cannot read .*directory"):
        read_text(tmp_path)


@pytest.mark.parametrize("mode", [0o444, 0o644])
def test_a_file_is_writable_if_any_user_may_write_it(tmp_path, mode):
    path = tmp_path / "x.txt"
    path.write_text("old")
    path.chmod(mode)
    if mode == 0o644:
        check_writable(path)
    else:
        with pytest.raises(InputError, match=r"x\.txt': it is read-only"):
            check_writable(path)


def test_a_read_only_folder_is_refused(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o555)
    with pytest.raises(InputError, match=r"the folder '.*folder' is read-only"):
        check_writable(folder / "x.txt")
    folder.chmod(0o755)
    check_writable(folder / "x.txt")
    check_writable(None)


def test_other_reasons_against_a_file(tmp_path):
    with pytest.raises(InputError, match="it is a folder"):
        check_writable(tmp_path)
    with pytest.raises(MissingFile, match="there is no folder"):
        check_writable(tmp_path / "none" / "x.txt")
    with pytest.raises(InputError, match=r"cannot write .*too long"):
        check_writable(tmp_path / ("x" * 300))


def test_a_new_file_keeps_the_permissions_and_the_link(tmp_path):
    target, link = tmp_path / "x.txt", tmp_path / "link.txt"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_text_atomically(link, "new\r\n")
    assert link.is_symlink()
    assert target.read_bytes() == b"new\r\n"
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_temporary_file_has_the_suffix_of_the_file(tmp_path):
    with replace_atomically(tmp_path / "x.png") as temporary:
        assert (temporary.parent, temporary.suffix) == (tmp_path, ".png")
        temporary.write_bytes(b"")


def test_pictures_have_one_of_three_formats(tmp_path):
    for suffix in (".png", ".svg", ".PDF"):
        check_picture_path(tmp_path / f"x{suffix}")
    check_picture_path(None)
    with pytest.raises(InputError, match=r"\.png, \.svg, \.pdf; '.*x\.jpg' does not"):
        check_picture_path(tmp_path / "x.jpg")


def test_an_open_store_is_known_by_its_file(tmp_path):
    class Owner:
        pass

    path, other = tmp_path / "x.db", tmp_path / "other.db"
    path.touch()
    other.touch()
    owner = Owner()
    mark_store_open(owner, str(path))
    (tmp_path / "same.db").hardlink_to(path)
    assert is_store_open(str(tmp_path / "same.db"))
    assert not is_store_open(str(other))
    assert not is_store_open(str(tmp_path / "none.db"))
    mark_store_closed(owner)
    mark_store_closed(owner)  # closing twice is harmless
    assert not is_store_open(str(path))
    mark_store_open(owner, str(path))
    del owner
    gc.collect()
    assert not is_store_open(str(path))
