"""The HTTP client of a remote store: which one, its limits, and where plain HTTP is allowed."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from holdfast.errors import Rejected
from holdfast.io.address import is_loopback
from holdfast.io.objects.settings import StoreSettings

Client: TypeAlias = S3Store | GCSStore | AzureStore

CLIENTS: dict[str, type[S3Store] | type[GCSStore] | type[AzureStore]] = {
    "s3": S3Store,
    "gs": GCSStore,
    "az": AzureStore,
}
SMALL_SIZE = 64 << 10  # Bytes; up to here a body takes no time worth counting.
_MACHINES_KEYS = "/latest/api/token"  # Asked for last, where a machine of Amazon's would know keys of its own.


class ClientLimits(NamedTuple):
    """What the client may do, and for how long."""

    times: StoreSettings
    allow_http: bool


class Clients:
    """Clients for one bucket, by how many bytes they send. May be used from any thread.

    A put is one request, which the client gives one deadline for head, body and answer; it tells nobody how far it is.
    So "no progress" cannot be seen, and the deadline grows with the body instead: what is slower than
    `put_bytes_per_s_min` is given up. Puts in parts would show progress, but their end takes no precondition, and a
    put-if-absent needs one. The deadline belongs to a client, so there is one for each power of two, made when needed.
    """

    def __init__(self, scheme: str, bucket: str, limits: ClientLimits, config: Mapping[str, str]) -> None:
        self._make: Callable[[int], Client] = lambda ms: open_client(scheme, bucket, limits, config, ms)
        self._times = limits.times
        self._lock = threading.Lock()
        self.small = self._make(limits.times.request_timeout_ms)  # And what is wrong with the settings is said now.
        self._large: dict[int, Client] = {}

    def for_size(self, size: int) -> Client:
        """The client for a body of this size."""
        if size <= SMALL_SIZE:
            return self.small
        room = 1 << (size - 1).bit_length()
        with self._lock:
            if room not in self._large:
                self._large[room] = self._make(
                    self._times.request_timeout_ms + room * 1000 // self._times.put_bytes_per_s_min
                )
            return self._large[room]


def open_client(scheme: str, bucket: str, limits: ClientLimits, config: Mapping[str, str], timeout_ms: int) -> Client:
    """A client for one bucket, or Rejected with what is wrong with the settings. Sends nothing yet."""
    settings: dict[str, Any] = dict(config)
    client: dict[str, Any] = {
        "connect_timeout": timedelta(milliseconds=limits.times.connect_timeout_ms),
        "timeout": timedelta(milliseconds=timeout_ms),
    }
    retry: dict[str, Any] = {
        "max_retries": limits.times.retries,
        "retry_timeout": timedelta(milliseconds=limits.times.retry_timeout_ms),
    }
    if scheme == "s3":
        settings.setdefault("conditional_put", "etag")
        settings.setdefault("disable_bulk_delete", True)  # We delete one by one, and every S3 can do that.
        client["allow_http"] = _plain_http(_s3_endpoint(config), allowed=limits.allow_http)
    try:
        # The client's types know each setting by name; ours come from people, and it checks them when it is made.
        return CLIENTS[scheme](bucket, config=settings, client_options=client, retry_config=retry)  # type: ignore[arg-type]
    except (BaseError, ValueError) as failure:
        raise Rejected(f"{scheme}://{bucket} cannot be opened: {first_lines(failure)}") from failure


def is_timeout(failure: Exception) -> bool:
    """Whether a call ended because its time was over: the client says so only behind what it says to people."""
    return "kind: Timeout" in str(failure)


def first_lines(failure: Exception) -> str:
    """What a client's error says to people, in one line: of a server's answer in XML its code and its message."""
    text = str(failure).partition("\n\nDebug source")[0]
    if _MACHINES_KEYS in text:
        return (
            "there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the store the options "
            "access_key_id and secret_access_key"
        )
    if is_timeout(failure):
        text += " (timed out)"
    head, is_answer, answer = text.partition("<?xml")
    said = [found[1] for tag in ("Code", "Message") if (found := re.search(f"<{tag}>(.*?)</{tag}>", answer, re.DOTALL))]
    return " ".join((head + ": ".join(said) if is_answer else text).split())


def _s3_endpoint(config: Mapping[str, str]) -> str:
    given = (config.get(key) for key in ("endpoint", "endpoint_url", "aws_endpoint", "aws_endpoint_url"))
    usual = (os.environ.get(key) for key in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"))
    return next(filter(None, (*given, *usual)), "")


def _plain_http(endpoint: str, *, allowed: bool) -> bool:
    """Whether this endpoint speaks plain HTTP, which is refused unless it is on this machine or was asked for."""
    scheme, host = urlsplit(endpoint).scheme, urlsplit(endpoint).hostname or ""
    if scheme != "http":
        return False
    if not (is_loopback(host) or allowed or os.environ.get("AWS_ALLOW_HTTP", "").lower() == "true"):
        raise Rejected(f"{endpoint} is not encrypted: use https, or set allow_http if the network is trusted")
    return True
