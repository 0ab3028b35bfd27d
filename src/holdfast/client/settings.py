"""How a cluster is reached, in Kafka's words: what `client.properties` has for Java, and `kafka.…` options for Spark.

Every tool that talks to a broker makes one of these of what it was told, and hands it on whole: a new word is read here
and obeyed in `connection.Connector`, and nowhere else. The commands hand on addresses only, so far.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.errors import Rejected
from holdfast.io.address import Address, parse_addresses

BOOTSTRAP = "bootstrap.servers"
WORDS = (BOOTSTRAP,)


class UnknownWord(Rejected):
    """A setting that this client does not have."""

    def __init__(self, word: str) -> None:
        super().__init__(f"there is no client setting {word}: there are {', '.join(WORDS)}")
        self.word = word


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What is needed to reach a cluster. It is a value, and travels to executors; a text of it names the brokers."""

    bootstrap_servers: tuple[Address, ...]

    def __str__(self) -> str:
        return ",".join(map(str, self.bootstrap_servers))

    @classmethod
    def at(cls, where: ClientSettings | str) -> ClientSettings:
        """Settings as they are; a text is `HOST:PORT`, several with commas."""
        return where if isinstance(where, ClientSettings) else cls(parse_addresses(where))

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> ClientSettings:
        """Of Kafka's words. One that nobody knows is an error, and so is a cluster without an address."""
        for word in given:
            if word not in WORDS:
                raise UnknownWord(word)
        if BOOTSTRAP not in given:
            raise Rejected(f"{BOOTSTRAP} is missing: name a broker's address")
        return cls.at(given[BOOTSTRAP])


def words_of(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Those of the options that are meant for the client: `kafka.bootstrap.servers`, with "kafka." as prefix."""
    named = {word: options.get(prefix + word) for word in WORDS}
    return {word: text for word, text in named.items() if text is not None}
