"""What the console says before there is a broker to look at: that it starts, or what it waits for."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Final

from holdfast.console.answers import NOT_OURS, as_json, is_ours
from holdfast.console.http import Handle
from holdfast.console.link import HttpAnswer, HttpRequest

STARTING: Final = "The broker is starting."
_PAGE: Final = """<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="2">
<title>Holdfast</title></head><body><main><h1>Holdfast</h1><p role="status">{said}</p></main></body></html>
"""


class BeforeBroker:
    """Answers everybody with one sentence, until somebody else answers."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self.say: Callable[[], str] = lambda: STARTING
        self._then: Handle | None = None

    def hand_over(self, then: Handle) -> None:
        """There is a broker now."""
        self._then = then

    def take_back(self, said: str) -> None:
        """There is none any more."""
        self._then, self.say = None, lambda: said

    async def handle(self, request: HttpRequest) -> HttpAnswer:
        if self._then is not None:
            return await self._then(request)
        if not is_ours(request.headers.get("host", ""), self._names):
            return NOT_OURS
        if "text/html" in request.headers.get("accept", ""):
            page = _PAGE.format(said=html.escape(self.say()))
            return HttpAnswer(503, "text/html; charset=utf-8", page.encode())
        return as_json(503, {"error": self.say()})
