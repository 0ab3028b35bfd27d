"""What a start says of doors that anybody can walk through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.broker.listeners import Listener
from holdfast.broker.settings import BrokerSettings
from holdfast.cli.serve.doors import Door
from holdfast.io.address import is_loopback, parse_address


def unguarded(
    listeners: Sequence[Listener], settings: BrokerSettings, subscribers: Door | None = None
) -> Iterator[str]:
    """One sentence for each thing that is probably not meant."""
    if subscribers is not None and subscribers.listener is not None and subscribers.listen != "auto":
        like = next(each for each in listeners if each.name == subscribers.listener.name)
        if not _knows_clients(like, settings) and not is_loopback(parse_address(subscribers.listen).host):
            yield (
                f"subscribe.listen is reached from other machines and, as the listener {like.name}, asks nobody who "
                f"they are: choose another one with NAME://{subscribers.listen}, or listen on 127.0.0.1"
            )
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
