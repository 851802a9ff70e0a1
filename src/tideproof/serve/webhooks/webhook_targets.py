"""Allowed targets of webhooks: by default only addresses on the public internet."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from tideproof.errors import InputError, describe_value

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# The special-purpose address registries of IANA (RFC 6890), and multicast
_SPECIAL_IPV4 = tuple(
    ipaddress.IPv4Network(each)
    for each in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
        "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
        "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    )
)  # fmt: skip
_PUBLIC_IPV6 = ipaddress.IPv6Network("2000::/3")  # all public addresses that IANA has allocated so far
_SPECIAL_IPV6 = tuple(  # protocol assignments with Teredo, documentation, and 6to4 tunnels
    ipaddress.IPv6Network(each) for each in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
MAX_URL_LENGTH = 2000  # maximum length of a URL


class TargetError(InputError):
    """Error for a webhook whose target cannot be reached or is not allowed; its text contains no secret."""


def checked_target(url: str, any_target: bool) -> str:
    """Look up the IP address of a webhook's URL and return it, or raise `InputError` if it is not allowed."""
    host, port = _host_and_port(url, ("https", "http") if any_target else ("https",))
    try:
        found = socket.getaddrinfo(host, port or 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise TargetError(f"the host {host!r} cannot be found: {error}") from None
    addresses = [str(each[4][0]).partition("%")[0] for each in found]
    if not any_target and not all(is_public(each) for each in addresses):
        raise TargetError(
            f"the host {host!r} is in a private network, but webhooks must be on the public internet; the "
            f"setting TIDEPROOF_WEBHOOK_TARGETS=any allows all addresses"
        )
    return addresses[0]


def _host_and_port(url: str, schemes: tuple[str, ...]) -> tuple[str, int | None]:
    """Return the host and the port of a webhook's URL, or raise an error that says what is wrong with it."""
    begin = " or ".join(f"{scheme}://" for scheme in schemes)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = None, None, None
    if len(url) > MAX_URL_LENGTH:
        problem = f"have at most {MAX_URL_LENGTH:,} characters, not {len(url):,}"
    elif not url.isascii():
        problem = f"contain only ASCII characters, not {describe_value(url)}"
    elif not url.lower().startswith(tuple(f"{scheme}://" for scheme in schemes)):
        problem = f"begin with {begin}, not {describe_value(url)}"
    elif parts is None or not host:
        problem = f"contain a valid host and port, not {describe_value(url)}"
    elif "@" in parts.netloc:
        problem = f"contain no user name and no password, not {describe_value(url)}"
    else:
        return host, port
    raise InputError(f"the URL of a webhook must {problem}")


def is_public(address: str) -> bool:
    """Return whether an IP address is on the public internet.

    The answer does not depend on the version of Python, whose lists of special networks differ. IPv6
    addresses of translators and tunnels, which contain an IPv4 address, are not public. An IPv4 address that
    is only written as IPv6 is judged as IPv4.

    >>> is_public("8.8.8.8"), is_public("10.0.0.1"), is_public("::ffff:127.0.0.1"), is_public("fec0::1")
    (True, False, False, False)
    """
    found: Address = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is None:
            return found in _PUBLIC_IPV6 and not any(found in each for each in _SPECIAL_IPV6)
        found = found.ipv4_mapped
    return not any(found in each for each in _SPECIAL_IPV4)
