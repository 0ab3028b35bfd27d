"""A listener that is open: a socket, and what the connections through it have in common."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from holdfast.broker.listeners import Listener, SecurityProtocol
from holdfast.errors import Rejected
from holdfast.io.address import Address, bind
from holdfast.security.errors import BadSetting
from holdfast.security.mapping import SETTING as MAPPING_SETTING
from holdfast.security.mapping import PrincipalMapping, subject_of
from holdfast.security.principal import ANONYMOUS, Principal, Session, host_of
from holdfast.security.tls import TlsSettings, WatchedContext


class OpenListener(NamedTuple):
    """Bound, so that its port is known; connections are taken when a server listens."""

    name: str
    protocol: SecurityProtocol
    bound: socket.socket
    told: Address  # Where its clients are told to find this broker.
    tls: WatchedContext | None = None
    mapping: PrincipalMapping = PrincipalMapping()

    @property
    def here(self) -> Address:
        return Address(*self.bound.getsockname()[:2])

    def session(self, peer: str, certificate: bytes | None = None) -> Session:
        """Who a connection is of, as far as an address and a certificate tell. NobodysName if no rule matches it."""
        principal = ANONYMOUS if certificate is None else Principal(self.mapping.name_of(subject_of(certificate)))
        return Session(principal, host_of(peer), self.name)

    @classmethod
    def plain(cls, bound: socket.socket, told: Address | None = None) -> OpenListener:
        """One for everybody who can reach it."""
        here = Address(*bound.getsockname()[:2])
        return cls(SecurityProtocol.PLAINTEXT.value, SecurityProtocol.PLAINTEXT, bound, told or here)


def open_listeners(
    wanted: Iterable[Listener], words_of: Callable[[str], Mapping[str, str]], otherwise: str
) -> list[OpenListener]:
    """All of them, or none. `words_of` gives a listener's settings; `otherwise` says what to do if one is taken."""
    opened: list[OpenListener] = []
    try:
        for name, protocol, address, advertised in wanted:
            if protocol.has_sasl:
                raise Rejected(f"the listener {name} wants {protocol}, which is not served yet: PLAINTEXT and SSL are")
            protection = _protection(name, words_of(name)) if protocol.has_tls else ()
            bound = bind(address, otherwise)
            told = advertised or Address(address.host, bound.getsockname()[1])
            opened.append(OpenListener(name, protocol, bound, told, *protection))
    except BaseException:
        for each in opened:
            each.bound.close()
        raise
    return opened


def _protection(name: str, words: Mapping[str, str]) -> tuple[WatchedContext, PrincipalMapping]:
    try:
        mapping = PrincipalMapping.parse(words[MAPPING_SETTING])
        return WatchedContext(name, TlsSettings.parse(words)), mapping
    except BadSetting as failure:
        raise Rejected(f"the listener {name}: {failure}") from None
