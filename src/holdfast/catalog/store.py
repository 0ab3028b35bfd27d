"""Where a cluster keeps its segments, as a small value that travels to executors."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from holdfast.cluster.identity import CLUSTER, read_cluster
from holdfast.cluster.served_store import chosen_store
from holdfast.errors import Rejected
from holdfast.io.objects import NotFound, Objects
from holdfast.io.objects.open import UnknownStore, is_misspelt, open_objects

_NUMBERS = ("connect_timeout_ms", "request_timeout_ms", "retries", "retry_timeout_ms")
_SWITCHES = ("allow_http",)


@dataclass(frozen=True)
class Store:
    """One object store. Two with the same content are the same, so a process opens each once."""

    url: str
    options: tuple[tuple[str, Any], ...] = field(default=(), repr=False)  # May hold credentials: never shown.

    def open(self) -> Objects:
        return _open(self)


def find_store(path: str, options: Mapping[str, str] | None = None) -> Store:
    """The store that a path or URL names: a broker's data directory, the directory of its objects, or a bucket.

    A wrong path must not pass for an empty cluster: the store has to belong to one.
    """
    store = Store(_store_url(path), typed(options or {}))
    cluster_of(store)
    return store


def cluster_of(store: Store) -> str:
    """The id of the cluster that the store belongs to."""
    try:
        return read_cluster(store.open())
    except NotFound:
        raise Rejected(f"{store.url} holds no cluster: name a broker's data directory or its store") from None


def _store_url(path: str) -> str:
    scheme, separator, _ = path.partition("://")
    if separator and scheme != "file":
        return path
    if is_misspelt(path):
        raise UnknownStore(path)
    folder = Path(unquote(urlsplit(path).path) if separator else path)
    if not folder.is_dir():
        raise Rejected(f"{folder} is not a directory: name a broker's data directory or its store")
    if (folder / CLUSTER).exists():
        return str(folder.absolute())
    inside = Path(chosen_store(folder, None, "--path"))
    return str((inside if inside.is_dir() else folder).absolute())


def typed(options: Mapping[str, str]) -> tuple[tuple[str, Any], ...]:
    """The options of a store, each as the type that the store wants."""
    return tuple(sorted((name, _value(name, text)) for name, text in options.items()))


def _value(name: str, text: str) -> Any:
    if name in _SWITCHES:
        if text.lower() not in ("true", "false"):
            raise Rejected(f"store.{name} is {text!r}, but it must be true or false")
        return text.lower() == "true"
    if name in _NUMBERS:
        if not text.isdecimal():
            raise Rejected(f"store.{name} is {text!r}, but it must be a whole number")
        return int(text)
    return text


@functools.lru_cache(maxsize=64)
def _open(store: Store) -> Objects:
    return open_objects(store.url, dict(store.options) or None)
