"""Where the servers of each source are: those that were given, and those that they have told of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.subscribe.errors import BadRequest


class Servers:
    """Of one subscription. A source has one server, or several brokers of one cluster, of which any can be asked."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        """By source; several of one cluster are separated by commas."""
        self._given = {source: _split(text) for source, text in addresses.items()}
        self._told: dict[str, list[str]] = {}
        self._turn = dict.fromkeys(self._given, 0)

    def asked(self, source: str) -> str:
        """Who is asked now."""
        known = self._known(source)
        return known[self._turn[source] % len(known)]

    def tell(self, source: str, addresses: Iterable[str]) -> None:
        """What a server says where others are. Only the last word counts: brokers come and go."""
        now = self.asked(source)
        self._told[source] = list(addresses)
        known = self._known(source)
        self._turn[source] = known.index(now) if now in known else 0

    def gone(self, address: str) -> None:
        """One did not answer: where it was asked, another one is."""
        for source in self._given:
            if self.asked(source) == address:
                self._turn[source] += 1

    def source_of(self, address: str) -> str:
        """Whose server it is."""
        return next(source for source in self._given if address in self._known(source))

    def _known(self, source: str) -> list[str]:
        return list(dict.fromkeys([*self._given[source], *self._told.get(source, ())]))


def _split(text: str) -> list[str]:
    found = [each.strip() for each in text.split(",")]
    if not all(found):
        raise BadRequest(f"{text!r} is no address, and no list of them")
    return found
