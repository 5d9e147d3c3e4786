"""The page of a project in a package index: read in either of its forms, written anew with addresses of one's own.

The forms are HTML (https://peps.python.org/pep-0503/, with the attributes of PEP 592, 658 and 714) and JSON (https://peps.python.org/pep-0691/). What
is not one of their fields is left out, so that nothing of a page passes that an installer does not need.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

HTML, JSON = "text/html", "application/vnd.pypi.simple.v1+json"
ACCEPTED = f"{JSON}, application/vnd.pypi.simple.v1+html;q=0.2, {HTML};q=0.1"
"""The forms that are read, as a request asks for them."""

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!~-]{0,250}\.(whl|tar\.gz|tar\.bz2|tar\.xz|tgz|zip)")
_HASH = re.compile(r"(sha256|sha384|sha512|sha224|sha1|md5|blake2b|blake2s)=([0-9a-fA-F]{16,256})")
_LONGEST_VALUE = 500


class UnreadablePageError(ValueError):
    """The page of a project is in neither form."""


@dataclass(frozen=True)
class ProjectFile:
    """A file that the page of a project links to."""

    url: str
    """Where it is, without a fragment."""
    name: str
    hashes: tuple[tuple[str, str], ...] = ()
    """Algorithm and hexadecimal digest."""
    requires_python: str | None = None
    yanked: str | None = None
    """Why the file is no longer to be used (may be empty); None: it is."""
    metadata: str | None = None
    """Whether its metadata lie beside it under `<url>.metadata`: `true`, or their hash as `sha256=...`."""
    size: int | None = None


def canonical_name(project: str) -> str:
    """The one form of a project's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", project).lower()


def read_page(content: bytes, content_type: str, address: str) -> list[ProjectFile]:
    """The files of a project's page, which lies at `address`. Links to what is no package are left out. Raises `UnreadablePageError`."""
    kind = content_type.partition(";")[0].strip().lower()
    try:
        found = list(_read_json(content, address) if kind.endswith("json") else _read_html(content, address))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadablePageError(f"not a page of a package index ({type(error).__name__})") from error
    return [file for file in found if _FILE_NAME.fullmatch(file.name) and urlsplit(file.url).scheme in ("http", "https")]


def write_html(project: str, files: Iterable[ProjectFile], address: Callable[[ProjectFile], str]) -> bytes:
    """The page as HTML; `address` says where a file is to be had."""
    lines = ["<!DOCTYPE html>", f"<html><head><title>{html.escape(project)}</title></head><body>"]
    for file in files:
        fragment = "".join(f"#{algorithm}={digest}" for algorithm, digest in file.hashes[:1])
        attributes = {
            "href": address(file) + fragment,
            "data-requires-python": file.requires_python,
            "data-yanked": file.yanked,
            "data-core-metadata": file.metadata,
            "data-dist-info-metadata": file.metadata,
        }
        written = " ".join(f'{name}="{html.escape(value)}"' for name, value in attributes.items() if value is not None)
        lines.append(f"<a {written}>{html.escape(file.name)}</a><br/>")
    return "\n".join([*lines, "</body></html>", ""]).encode()


def write_json(project: str, files: Iterable[ProjectFile], address: Callable[[ProjectFile], str]) -> bytes:
    """The page as JSON; `address` says where a file is to be had."""
    entries = []
    for file in files:
        entry: dict[str, Any] = {"filename": file.name, "url": address(file), "hashes": dict(file.hashes)}
        if file.requires_python is not None:
            entry["requires-python"] = file.requires_python
        if file.yanked is not None:
            entry["yanked"] = file.yanked or True
        if file.metadata is not None:
            algorithm, _, digest = file.metadata.partition("=")
            entry["core-metadata"] = entry["dist-info-metadata"] = {algorithm: digest} if digest else True
        if file.size is not None:
            entry["size"] = file.size
        entries.append(entry)
    return json.dumps({"meta": {"api-version": "1.0"}, "name": project, "files": entries}).encode()


def _read_json(content: bytes, address: str) -> Iterable[ProjectFile]:
    for entry in json.loads(content)["files"]:
        yanked = entry.get("yanked", False)
        metadata = entry.get("core-metadata", entry.get("dist-info-metadata", False))
        size = entry.get("size")
        yield ProjectFile(
            url=urldefrag(urljoin(address, entry["url"])).url,
            name=entry["filename"],
            hashes=tuple((str(name), str(digest)) for name, digest in entry["hashes"].items() if _HASH.fullmatch(f"{name}={digest}")),
            requires_python=_text(entry.get("requires-python")),
            yanked=None if yanked is False else _text("" if yanked is True else yanked),
            metadata=_metadata("true" if metadata is True else next((f"{name}={digest}" for name, digest in metadata.items()), "true"))
            if metadata
            else None,
            size=size if isinstance(size, int) and size >= 0 else None,
        )


class _Links(HTMLParser):
    """The links of a page, and the address that they start from."""

    def __init__(self) -> None:
        super().__init__()
        self.base: str | None = None
        self.links: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of a link."""
        attributes = dict(attrs)
        if tag == "base" and self.base is None:
            self.base = attributes.get("href")
        elif tag == "a" and attributes.get("href"):
            self.links.append(attributes)


def _read_html(content: bytes, address: str) -> Iterable[ProjectFile]:
    parser = _Links()
    parser.feed(content.decode("utf-8", "replace"))
    base = urljoin(address, parser.base or "")
    for link in parser.links:
        url, fragment = urldefrag(urljoin(base, str(link["href"]).strip()))
        match = _HASH.fullmatch(fragment)
        metadata = link.get("data-core-metadata", link.get("data-dist-info-metadata"))
        yield ProjectFile(
            url=url,
            name=unquote(urlsplit(url).path.rpartition("/")[2]),
            hashes=() if match is None else ((match[1], match[2]),),
            requires_python=_text(link.get("data-requires-python")),
            yanked=_text(link["data-yanked"] or "") if "data-yanked" in link else None,
            metadata=None if metadata is None else _metadata(metadata),
        )


def _text(value: Any) -> str | None:
    return value[:_LONGEST_VALUE] if isinstance(value, str) else None


def _metadata(value: str) -> str | None:
    return value if value == "true" or _HASH.fullmatch(value) else "true"
