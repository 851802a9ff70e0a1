"""URLs of stores, whose scheme (sqlite or postgresql) selects the database backend.

`sqlite:///shop.db` is a path relative to the working directory, `sqlite:////var/lib/shop.db` an absolute
path. `postgresql://user@host/database` is a PostgreSQL database.
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
from tideproof.text import public_url

# Module that opens a store, by the scheme of the URL
SCHEMES = {
    "sqlite": "tideproof.store.sqlite_backend",
    "postgresql": "tideproof.store.postgres.postgres_backend",
    "postgres": "tideproof.store.postgres.postgres_backend",
}

_SHARED_DRIVES = {
    "nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "fuse.sshfs", "afs", "9p", "glusterfs", "ceph",
    "lustre", "gpfs", "fuse.s3fs", "fuse.rclone", "davfs", "vboxsf",
}  # fmt: skip


def open_backend(url: str, read_only: bool = False, connections: int | None = None) -> Backend:
    """Open the store, a database with experiments, at a URL.

    With `read_only`, the store must exist and is not changed. With `connections`, this process uses at most
    so many connections to a PostgreSQL server for this store; experiments share them.
    """
    if not isinstance(url, str) or "://" not in url:
        raise InputError(f"a store must be a URL such as 'sqlite:///shop.db', not {describe_value(url)}")
    scheme = url.partition("://")[0]
    if scheme not in SCHEMES:
        raise UnknownName.with_suggestion("scheme", scheme, SCHEMES, f"in the URL {public_url(url)!r}")
    open_from_url: Callable[[str, bool, int | None], Backend] = import_module(SCHEMES[scheme]).open_from_url
    return open_from_url(url, read_only, connections)


def sqlite_path(url: str) -> str:
    """Return the file path in the URL of a SQLite store.

    >>> sqlite_path("sqlite:///shop.db"), sqlite_path("sqlite:////data/shop.db")
    ('shop.db', '/data/shop.db')
    """
    path = url.removeprefix("sqlite:///")
    if path == url or not path or "\0" in path or path.endswith("/"):
        raise InputError(
            f"the URL of a SQLite file must be sqlite:///path or sqlite:////absolute/path, not {url!r}"
        )
    if path == ":memory:" or path.startswith("file:"):
        raise InputError(f"a store must be a file that other processes can open, not {url!r}")
    return path


def warn_if_on_network_drive(path: str, mounts: str | None = None) -> None:
    """Warn if a file is on a network drive, where SQLite's locks are unreliable."""
    if mounts is None:
        try:
            mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
        except OSError:  # not Linux: the kind of drive is unknown
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
            f"{path!r} is on a network drive ({found[1]}), where SQLite can lose events. Move it to a local "
            f"disk, or use a PostgreSQL server",
            stacklevel=2,
        )
