"""Where a store is: `sqlite:///shop.db` beside the program, `sqlite:////var/lib/shop.db` from the root.

Or `postgresql://user@host/database`.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from tideproof.errors import InputError, UnknownName, describe_value
from tideproof.store.backend import Backend

# What opens a store, by the scheme of its URL
SCHEMES = {
    "sqlite": "tideproof.store.sqlite_backend",
    "postgresql": "tideproof.store.postgres_backend",
    "postgres": "tideproof.store.postgres_backend",
}

_SHARED_DRIVES = {
    "nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "fuse.sshfs", "afs", "9p", "glusterfs", "ceph",
    "lustre", "gpfs", "fuse.s3fs", "fuse.rclone", "davfs", "vboxsf",
}  # fmt: skip


def place_of(url: str, read_only: bool = False) -> Backend:
    """Return the store at a URL, or say what a URL is; to read, it must be there and nothing is changed."""
    if not isinstance(url, str) or "://" not in url:
        raise InputError(f"a store is a URL such as 'sqlite:///shop.db', not {describe_value(url)}")
    scheme = url.partition("://")[0]
    if scheme not in SCHEMES:
        raise UnknownName.with_suggestion("scheme", scheme, SCHEMES, f"in the URL {public(url)!r}")
    opened: Callable[[str, bool], Backend] = import_module(SCHEMES[scheme]).opened
    return opened(url, read_only)


def public(url: str) -> str:
    """Return a URL without what may be secret: user, password and options.

    >>> public("postgresql://me:secret@host/db?password=x"), public("sqlite:///shop.db"), public("log.csv")
    ('postgresql://host/db', 'sqlite:///shop.db', 'log.csv')
    """
    scheme, mark, rest = url.partition("://")
    if not mark or scheme in ("sqlite", "duckdb"):
        return url
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"


def sqlite_path(url: str) -> str:
    """Return the path in such a URL.

    >>> sqlite_path("sqlite:///shop.db"), sqlite_path("sqlite:////data/shop.db")
    ('shop.db', '/data/shop.db')
    """
    path = url.removeprefix("sqlite:///")
    if path == url or not path or "\0" in path or path.endswith("/"):
        raise InputError(
            f"the URL of a file is sqlite:///path, or sqlite:////path from the root, not {url!r}"
        )
    if path == ":memory:" or path.startswith("file:"):
        raise InputError(f"a store is a file: {url!r} would be none, or not one for everybody")
    return path


def warn_of_network(path: str, mounts: str | None = None) -> None:
    """Warn if a file lies on a network drive, whose locks SQLite cannot rely on."""
    if mounts is None:
        try:
            mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
        except OSError:  # not Linux: nobody says
            return
    whole = os.path.realpath(path)
    found = ("", "")
    for line in mounts.splitlines():
        point, kind = (re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), x) for x in line.split()[1:3])
        inside = whole == point or whole.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(found[0]):
            found = point, kind
    if found[1] in _SHARED_DRIVES:
        warnings.warn(
            f"{path!r} lies on a network drive ({found[1]}), where SQLite can lose events: put it on a disk "
            f"of this machine, or use a database server",
            stacklevel=2,
        )
