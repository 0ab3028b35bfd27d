"""Object stores over HTTP: S3 and what speaks its protocol, Google Cloud Storage, Azure Blob Storage.

What put-if-absent means here: the store decides the race, by a precondition in the request (`If-None-Match: *`, or the
store's own form of it). But the client repeats requests by itself, after server errors for one, and the repeat may meet
the object that the first attempt made. So our own bytes may be answered with `Exists`, and after `StoreFailed` nothing
is known: the object may be there, or still come. What is answered as success always is one. Whoever must know reads the
object and looks for the mark it wrote into it, as manifests do.

Every call ends: after `retry_timeout_ms` no attempt is started, and an attempt takes at most `request_timeout_ms`; one
of a put as much longer as its bytes take at `put_bytes_per_s_min` (`remote_client.Clients` says why).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotModifiedError, PreconditionError

from holdfast.errors import Rejected
from holdfast.io.objects import Exists, NotFound, ObjectInfo, StoreFailed, StoreTimedOut
from holdfast.io.objects.names import check_name, check_prefix, check_range, clip, is_name
from holdfast.io.objects.remote_client import CLIENTS, ClientLimits, Clients, first_lines, is_timeout
from holdfast.io.objects.settings import StoreSettings
from holdfast.types import Buffer

TIMES = StoreSettings()

_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist")
_NAMES_PER_PAGE = 1000


class RemoteObjects:
    """`s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`.

    `config` are the store's own settings (`endpoint`, `region`, `access_key_id`, `account_name`, …); what is not given
    comes from the usual environment variables (`AWS_ENDPOINT_URL`, `AWS_ACCESS_KEY_ID`, …). Plain HTTP is taken for
    endpoints on this machine only, unless `allow_http` is set.
    """

    def __init__(
        self,
        url: str,
        *,
        connect_timeout_ms: int = TIMES.connect_timeout_ms,
        request_timeout_ms: int = TIMES.request_timeout_ms,
        put_bytes_per_s_min: int = TIMES.put_bytes_per_s_min,
        retries: int = TIMES.retries,
        retry_timeout_ms: int = TIMES.retry_timeout_ms,
        allow_http: bool = False,
        **config: str,
    ) -> None:
        scheme, bucket, path, *_ = urlsplit(url)
        self._prefix = path.strip("/") + "/" if path.strip("/") else ""
        self.url = f"{scheme}://{bucket}/{self._prefix}".rstrip("/")
        if scheme not in CLIENTS or not bucket:
            raise Rejected(f"{url} does not name a bucket: write s3://, gs:// or az:// and the bucket's name")
        times = StoreSettings(
            connect_timeout_ms=connect_timeout_ms,
            request_timeout_ms=request_timeout_ms,
            put_bytes_per_s_min=put_bytes_per_s_min,
            retries=retries,
            retry_timeout_ms=retry_timeout_ms,
        )
        self._clients = Clients(scheme, bucket, ClientLimits(times, allow_http), config)
        self._store = self._clients.small

    def put_if_absent(self, name: str, data: Sequence[Buffer]) -> None:
        try:
            self._put(name, data, "create")
        except Exists:
            self._check_really_there(name)
            raise

    def put(self, name: str, data: Sequence[Buffer]) -> None:
        self._put(name, data, "overwrite")

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        check_name(name)
        check_range(start, end)
        if end is not None and end <= start:
            self.size(name)  # A store has no request for no bytes; that the object is there must still be asked.
            return b""
        try:
            return self._get(name, start, end)
        except StoreFailed as failure:
            # A range past the end is answered with an error by most stores.
            if " 416 " in str(failure.cause) and self.size(name) <= start:
                return b""
            raise

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        check_prefix(prefix)
        return self._listed(prefix, after)

    def delete(self, name: str) -> None:
        check_name(name)
        with contextlib.suppress(NotFound), _answered("delete", name):
            obstore.delete(self._store, self._prefix + name)

    def size(self, name: str) -> int:
        check_name(name)
        with _answered("size", name):
            return obstore.head(self._store, self._prefix + name)["size"]

    def _put(self, name: str, data: Sequence[Buffer], mode: Literal["create", "overwrite"]) -> None:
        check_name(name)
        with _answered("put", name):
            try:
                # One request, never parts: only a single request is atomic and takes a precondition.
                client = self._clients.for_size(sum(memoryview(each).nbytes for each in data))
                obstore.put(client, self._prefix + name, data, mode=mode, use_multipart=False)
            except (AlreadyExistsError, PreconditionError, NotModifiedError):
                if mode == "create":
                    raise Exists(name) from None
                raise

    def _check_really_there(self, name: str) -> None:
        """Some stores answer "conflict" when a delete came in between, which reads as "exists" though nothing is."""
        try:
            self.size(name)
        except NotFound:
            raise StoreFailed("put", name, "another request for the same name was under way") from None

    def _get(self, name: str, start: int, end: int | None) -> bytes:
        wanted: Any = {"offset": start} if end is None else (start, end)
        with _answered("get", name):
            result = obstore.get(self._store, self._prefix + name, options={"range": wanted} if start or end else None)
            data = result.bytes().to_bytes()
        start, end = clip(start, end, result.meta["size"])
        if len(data) != end - start:
            raise StoreFailed("get", name, f"got {len(data)} of {end - start} bytes")
        return data

    def _listed(self, prefix: str, after: str) -> Iterator[ObjectInfo]:
        folder = self._prefix + prefix[: prefix.rfind("/") + 1]
        offset = _offset(prefix, after)
        last = ""
        for info in self._pages(prefix, folder, self._prefix + offset if offset else None):
            if info.name <= last:
                raise StoreFailed("list", prefix, f"{info.name} came after {last}: this store does not list in order")
            last = info.name
            if info.name.startswith(prefix):
                if info.name > after and is_name(info.name):
                    yield info
            elif info.name > prefix:
                return  # Names with the prefix lie together, so this is behind the last of them.

    def _pages(self, prefix: str, folder: str, offset: str | None) -> Iterator[ObjectInfo]:
        with _answered("list", prefix):
            for page in obstore.list(self._store, folder or None, offset=offset, chunk_size=_NAMES_PER_PAGE):
                for found in page:
                    modified_ms = int(found["last_modified"].timestamp() * 1000)
                    yield ObjectInfo(found["path"].removeprefix(self._prefix), found["size"], modified_ms)


@contextlib.contextmanager
def _answered(action: str, name: str) -> Iterator[None]:
    """Turn the client's errors into ours."""
    try:
        yield
    except FileNotFoundError as failure:
        if action in ("put", "list") or any(text in str(failure) for text in _NO_BUCKET):
            raise StoreFailed(action, name, first_lines(failure)) from failure  # It is the bucket that was not found.
        raise NotFound(name) from None
    except (BaseError, OSError, ValueError) as failure:
        if is_timeout(failure):
            raise StoreTimedOut(action, name, first_lines(failure)) from failure
        raise StoreFailed(action, name, first_lines(failure)) from failure


def _offset(prefix: str, after: str) -> str:
    """A legal name that lies before all that is asked for, as near to them as is easy: the listing starts behind it."""
    if after >= prefix:
        offset = after
    elif prefix.endswith("/"):
        return ""
    else:
        offset = prefix[:-1] + chr(ord(prefix[-1]) - 1) + "~"
    while offset and not is_name(offset):
        offset = offset[:-1]  # What is shorter is smaller.
    return offset
