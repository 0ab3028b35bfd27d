"""From a URL to the object store it names."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from holdfast.errors import Rejected
from holdfast.io.objects import Objects
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects

_buckets: dict[str, MemoryBucket] = {}  # So that everybody in this process who says memory://name means the same one.
_buckets_lock = threading.Lock()
_LIKE_A_URL = re.compile(r"(s3[an]?|gc?s|az|wasbs?|abfss?|https?|file|memory)(:|//)", re.IGNORECASE)


class UnknownStore(Rejected):
    """The URL names no kind of object store that there is."""

    def __init__(self, url: str) -> None:
        super().__init__(
            f"{url} names no object store: write a path, file:///path, s3://bucket/prefix, gs://bucket/prefix, "
            "az://container/prefix or memory://name"
        )
        self.url = url


def open_objects(url: str, options: Mapping[str, Any] | None = None, *, is_known: bool = False) -> Objects:
    """The object store that a URL or a plain path names; `options` are those of `RemoteObjects`, others take none.

    A directory that is not there is made. One that `is_known` to have been there is waited for instead.
    """
    scheme, separator, rest = url.partition("://")
    if is_remote(url):
        from holdfast.io.objects.remote import RemoteObjects  # Only now: who uses a local store needs no HTTP client.

        return RemoteObjects(url, **(options or {}))
    if options:
        raise Rejected(f"{url} takes no options, but was given {', '.join(sorted(options))}")
    if separator and scheme == "memory" and rest:
        return _memory(rest)
    if separator and scheme == "file":
        return LocalObjects(_local_path(url), may_be_absent=is_known)
    if not separator and url and not is_misspelt(url):
        return LocalObjects(url, may_be_absent=is_known)
    raise UnknownStore(url)


def is_remote(url: str) -> bool:
    """Whether a store is reached over HTTP."""
    scheme, separator, _ = url.partition("://")
    return bool(separator) and scheme in ("s3", "gs", "az")


def is_misspelt(url: str) -> bool:
    """Whether what looks like a path was meant to be a URL: `s3:/bucket` and `s3//bucket` are no directories."""
    return "://" not in url and bool(_LIKE_A_URL.match(url))


def _memory(name: str) -> MemoryObjects:
    with _buckets_lock:
        return MemoryObjects(_buckets.setdefault(name, MemoryBucket()), name)


def _local_path(url: str) -> str:
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost") or not parts.path or parts.query or parts.fragment:
        raise UnknownStore(url)
    return unquote(parts.path)
