"""Settings of stores over HTTP: values only, units in the names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """How long calls of a store over HTTP may take. A store in a directory has no use for them."""

    connect_timeout_ms: int = 5_000  # For a connection to be made.
    request_timeout_ms: int = 30_000  # For one attempt; a put has the time of its bytes besides.
    put_bytes_per_s_min: int = 256 << 10  # A put that is slower than this is given up, and smaller ones are tried.
    retries: int = 3  # Attempts after the first one, within one call.
    retry_timeout_ms: int = 60_000  # After this time no further attempt is started.

    def __post_init__(self) -> None:
        if min(self.connect_timeout_ms, self.request_timeout_ms) < 1:
            raise ValueError("connect_timeout_ms and request_timeout_ms must be at least 1")
        if self.put_bytes_per_s_min < 1:
            raise ValueError("put_bytes_per_s_min must be at least 1")
        if min(self.retries, self.retry_timeout_ms) < 0:
            raise ValueError("retries and retry_timeout_ms must not be negative")
