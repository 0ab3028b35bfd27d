"""Which store a data directory was served with last: whoever names none must not take another that was left behind.

A store is moved by a copy and a `--store`; the old objects in the data directory may stay there, and are not all there
is from then on. So a broker that has found its cluster in a store writes that down. One file, replaced whole, durable
before it has its name:

    store.json    an envelope of kind `servedstore`: {"store": "objects"}

`store` is a path from the data directory on for what lies in it, so that it may be moved as a whole; the absolute path
of another directory; or the URL of a bucket, without credentials.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from holdfast.errors import HoldfastError, Rejected
from holdfast.io.calls import BlockingCalls
from holdfast.io.disk import RealDirectory
from holdfast.io.disk.whole import write_whole
from holdfast.io.envelope import seal, unseal

log = logging.getLogger(__name__)

NAME = "store.json"
KIND = "servedstore"
FORMAT = 1
INSIDE = "objects"  # Where the store is, unless another is named.
AGAIN_S = 30.0  # Where it cannot be written, it is tried again after this.


class StoreElsewhere(Rejected):
    """A data directory is used without its store, which is not in it."""

    def __init__(self, data: Path, store: str, option: str) -> None:
        super().__init__(f"{data} was last served with the store {store}: give {option} {shlex.quote(store)}")
        self.store = store


def chosen_store(data: Path, given: str | None, option: str = "--store") -> str:
    """The store of a data directory: the given one, or the one in it, unless it was last served with another.

    `option` is how whoever asks can be given one.
    """
    inside = str(data / INSIDE)
    if given:
        return given
    store = read_served(data, option)
    if store is None or (_is_local(store) and os.path.realpath(store) == os.path.realpath(inside)):
        return inside
    raise StoreElsewhere(data, store, option)


def read_served(data: Path, option: str = "--store") -> str | None:
    """The path or URL of the store that was served last; None: that was not written down."""
    file = data / NAME
    try:
        store = str(unseal(str(file), KIND, FORMAT, file.read_bytes())["store"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (HoldfastError, OSError, LookupError, ValueError) as failure:
        raise Rejected(f"which store belongs to {data} cannot be read: {failure}; name it with {option}") from failure
    return str(data / store) if _is_local(store) else store


def write_served(data: Path, url: str) -> None:
    """Write down which store is served. The same one is not written twice: a full disk is no reason to fail then."""
    sealed = seal(KIND, FORMAT, {"store": recorded(data, url)})
    try:
        if (data / NAME).read_bytes() == sealed:
            return
    except OSError:
        pass  # There is none yet, or it will be said by the write.
    write_whole(RealDirectory(data), NAME, sealed)


@asynccontextmanager
async def keeping_served(data: Path, url: str, calls: BlockingCalls) -> AsyncIterator[None]:
    """Write it down now. Where the disk is full that is tried again, as long as the block lasts."""
    trying: asyncio.Future[None] | None = None
    try:
        await calls.local(write_served, data, url)
    except OSError as failure:
        tell_unwritten(data, failure)
        trying = asyncio.ensure_future(_keep_trying(data, url, calls))
    try:
        yield
    finally:
        if trying is not None:
            trying.cancel()


def tell_unwritten(data: Path, failure: OSError) -> None:
    log.warning("%s: name the store of %s to every command until it can be written (--store)", failure, data)


async def _keep_trying(data: Path, url: str, calls: BlockingCalls) -> None:
    while True:
        await asyncio.sleep(AGAIN_S)
        try:
            await calls.local(write_served, data, url)
        except OSError as failure:
            log.debug("%s still cannot be written: %s", data / NAME, failure)
        else:
            log.info("%s is written: commands know the store of %s again", NAME, data)
            return


def _is_local(store: str) -> bool:
    return "://" not in store


def recorded(data: Path, url: str) -> str:
    """How a store is written down: from the data directory on, if it lies there by its name or behind links."""
    scheme, separator, _ = url.partition("://")
    parts = urlsplit(url)
    if separator and scheme != "file":
        return f"{scheme}://{parts.netloc.rpartition('@')[2]}/{parts.path.strip('/')}".rstrip("/")
    path = unquote(parts.path, errors="surrogateescape") if separator else url
    for whole in (os.path.abspath, os.path.realpath):
        place, home = whole(path), whole(data)
        if Path(place).is_relative_to(home):
            return os.path.relpath(place, home)
    return os.path.abspath(path)
