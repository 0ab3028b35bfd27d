"""What a start says of doors that anybody can walk through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.broker.listeners import Listener
from holdfast.broker.settings import BrokerSettings
from holdfast.io.address import is_loopback


def unguarded(listeners: Sequence[Listener], settings: BrokerSettings) -> Iterator[str]:
    """One sentence for each thing that is probably not meant."""
    open_ = [each for each in listeners if not _knows_clients(each, settings)]
    for each in open_:
        if not is_loopback(each.address.host):
            what = "has only the rights of User:ANONYMOUS" if settings.has_authorizer else "may do everything"
            yield (
                f"the listener {each.name} is reached from other machines and asks nobody who they are: whoever "
                f"connects {what}. Use SASL_SSL, or SSL with ssl.client.auth=required, or listen on 127.0.0.1"
            )
    if settings.has_authorizer and len(open_) == len(listeners):
        yield (
            "there is an authorizer, but no listener that asks who somebody is: all are User:ANONYMOUS. Give one of "
            "them SASL, or ssl.client.auth=required"
        )


def _knows_clients(listener: Listener, settings: BrokerSettings) -> bool:
    if listener.protocol.has_sasl:
        return True
    return listener.protocol.has_tls and settings.words_of(listener.name)["ssl.client.auth"] == "required"
