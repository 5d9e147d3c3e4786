"""The host behind the address of a model service, and whether it is this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from medagentgym.errors import UserError


def endpoint_host(address: str, key: str = "base_url") -> str:
    """The host of an address (`https://Api.OpenAI.com/v1`, `my-host:8000`, `[::1]:80`) in lower case, without user, port and final dot.

    Raises `UserError`, naming the `key` of the configuration, for an address without a host, or one that programs read in different ways.
    """
    text = address.strip()
    if "\\" in text or any(character.isspace() for character in text):
        raise UserError(f"{key}: {text!r} is not an address; expects the form https://host:port/v1")
    try:
        host = urlsplit(text if "://" in text else f"//{text}").hostname
    except ValueError:
        host = None
    if not host:
        raise UserError(f"{key}: {text!r} names no host; expects the form https://host:port/v1")
    return host.rstrip(".").lower()


def ip_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The host as an address, an IPv4 address written as IPv6 unwrapped; None for a name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself: 127.0.0.0/8, ::1 or `localhost`. Other names are not looked up."""
    address = ip_address(host)
    return host == "localhost" if address is None else address.is_loopback
