"""How a cluster is reached, in Kafka's words: what `client.properties` has for Java, and `kafka.…` options for Spark.

Every tool that talks to a broker makes one of these of what it was told, and hands it on whole: a new word is read
here, or in `secure` if it protects, and obeyed in `connection.Connector`, and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.client.protection.secure import PLAINTEXT, SecurityOptions, UnknownWord
from holdfast.client.protection.secure import WORDS as SECURITY_WORDS
from holdfast.errors import Rejected
from holdfast.io.address import Address, parse_addresses
from holdfast.security.properties import load_properties, resolve

BOOTSTRAP = "bootstrap.servers"
WORDS = (BOOTSTRAP, *SECURITY_WORDS)


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What is needed to reach a cluster. It is a value, and travels to executors; a text of it names the brokers."""

    bootstrap_servers: tuple[Address, ...]
    security: SecurityOptions = PLAINTEXT

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
                raise UnknownWord(word, WORDS)
        if BOOTSTRAP not in given:
            raise Rejected(f"{BOOTSTRAP} is missing: name a broker's address")
        addresses = resolve({BOOTSTRAP: given[BOOTSTRAP]}, os.environ)[BOOTSTRAP]
        security = {word: text for word, text in given.items() if word != BOOTSTRAP}
        return cls(parse_addresses(addresses), SecurityOptions.parse(security))

    @classmethod
    def read(cls, path: str | os.PathLike[str] | None, address: str | None, otherwise: str = "") -> ClientSettings:
        """Of a file, as Kafka's tools take it with `--command-config`. An address wins over that of the file; without
        both it is `otherwise`."""
        words = {} if path is None else load_properties(str(path))
        chosen = address or words.get(BOOTSTRAP) or otherwise
        return cls.parse(words | ({BOOTSTRAP: chosen} if chosen else {}))


def read_security(path: str | os.PathLike[str] | None) -> SecurityOptions:
    """How the other ports of a broker are reached: of the same files, whose address is that of the Kafka port."""
    words = {} if path is None else load_properties(str(path))
    return SecurityOptions.parse({word: text for word, text in words.items() if word != BOOTSTRAP})


def words_of(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Those of the options that are meant for the client: `kafka.bootstrap.servers`, with "kafka." as prefix."""
    named = {word: options.get(prefix + word) for word in WORDS}
    return {word: text for word, text in named.items() if text is not None}
