"""Where a webhook may go: nowhere inside the network of the service, unless its operator says so."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from tideproof.errors import InputError, describe_value

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48")
MOST = 2000  # characters of a URL


def checked_target(url: str, anywhere: bool) -> str:
    """Return the address that a URL leads to, or say why nothing is sent there; looks it up."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    schemes = ("https", "http") if anywhere else ("https",)
    if not host or not url.isascii() or len(url) > MOST or parts.scheme not in schemes or "@" in parts.netloc:
        raise InputError(
            f"a webhook is a URL that begins with {' or '.join(schemes)}://, without a password and with at "
            f"most {MOST:,} characters, not {describe_value(url)}"
        )
    try:
        found = socket.getaddrinfo(host, port or 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InputError(f"{host!r} cannot be found: {error}") from None
    addresses = [str(each[4][0]).partition("%")[0] for each in found]
    if not anywhere and not all(is_public(each) for each in addresses):
        raise InputError(f"{host!r} is an address inside a network: TIDEPROOF_TARGETS=any allows those")
    return addresses[0]


def is_public(address: str) -> bool:
    """Tell whether an address is one of the public internet, and leads to no other kind.

    >>> is_public("8.8.8.8"), is_public("10.0.0.1"), is_public("::ffff:127.0.0.1")
    (True, False, False)
    """
    found: Address = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv6Address):
        if found.teredo is not None or any(found in each for each in _TRANSLATED):
            return False
        found = found.ipv4_mapped or found.sixtofour or found
    return found.is_global and not found.is_multicast
