"""Where partitions of share groups have gone: what members are told with the error (KIP-951)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.broker.context import BrokerContext
from holdfast.broker.elsewhere import endpoints_of
from holdfast.broker.net.request import Request
from holdfast.errors import Fenced, HoldfastError
from holdfast.log.errors import LedElsewhere
from holdfast.protocol.hot.leaders import LeaderAddress


def leader_of(context: BrokerContext, *failures: HoldfastError | None) -> tuple[int, int]:
    """Who leads a partition, and since which epoch: it is us, unless that is what went wrong."""
    for failure in failures:
        if isinstance(failure, LedElsewhere):
            return failure.broker, failure.epoch
        if isinstance(failure, Fenced):
            return -1, -1
    return context.settings.node_id, 0


def addresses(context: BrokerContext, request: Request, failures: Iterable[object]) -> Sequence[LeaderAddress]:
    """Where the leaders are that members are sent to."""
    wanted = {each.broker for each in failures if isinstance(each, LedElsewhere)}
    return endpoints_of(wanted, context.others, request.session.listener) if wanted else ()
