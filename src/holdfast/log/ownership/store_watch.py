"""Whether the store answers: said once when it stops doing so, and once when it does again, whoever noticed it."""

from __future__ import annotations

import logging

from holdfast.io.objects import StoreFailed
from holdfast.io.store_errors import Undecided

log = logging.getLogger(__name__)


class StoreWatch:
    """Is told of every flush."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.is_away = False

    def note_failure(self, failure: Exception) -> None:
        """A flush failed. What is not the store's fault is not held against it."""
        if self.is_away or not isinstance(failure, StoreFailed | Undecided):
            return
        self.is_away = True
        facts = {"event": "store_away", "store": self._url}
        log.warning(
            "store away: %s; what is not flushed stays here, and is tried again", failure, extra={"facts": facts}
        )

    def note_success(self) -> None:
        if self.is_away:
            self.is_away = False
            log.info(
                "store back: %s answers again", self._url, extra={"facts": {"event": "store_back", "store": self._url}}
            )
