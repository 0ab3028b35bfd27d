"""Settings of the transaction coordinator: values only, units in the names."""

from __future__ import annotations

from dataclasses import dataclass

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSettings:
    """How long transactions may take, and how many transactional ids there may be."""

    timeout_ms_max: int = 15 * MINUTE_MS  # Of a transaction; producers that ask for more are refused.
    id_expiration_ms: int = 7 * DAY_MS  # A transactional id that is not used for so long is forgotten.
    expiration_check_ms: int = HOUR_MS  # How often that is looked at.
    ids_max: int = 100_000
    silence_ms: int = MINUTE_MS  # When all are taken, ids that were never used and are older than this make room.

    def __post_init__(self) -> None:
        if min(self.timeout_ms_max, self.id_expiration_ms, self.expiration_check_ms, self.ids_max) < 1:
            raise ValueError("limits and periods must be at least 1")
