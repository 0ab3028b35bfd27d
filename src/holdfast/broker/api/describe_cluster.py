"""DescribeCluster: the brokers. This one leads."""

from __future__ import annotations

from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import DESCRIBE_CLUSTER
from holdfast.broker.net.request import Request
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from holdfast.security.rules import ResourceType

_BROKERS, _CONTROLLERS = 1, 2


def cluster_operations(request: Request, *, asked: bool) -> int:
    """What may be done to the cluster, for those who may see it."""
    if asked and not request.rights.sees(DESCRIBE_CLUSTER):
        return 0
    return request.rights.operations(ResourceType.CLUSTER, asked=asked)


async def handle(context: BrokerContext, message: DescribeClusterRequest, request: Request) -> DescribeClusterResponse:
    wanted = message.endpoint_type
    if wanted != _BROKERS:
        code = Code.MISMATCHED_ENDPOINT_TYPE if wanted == _CONTROLLERS else Code.UNSUPPORTED_ENDPOINT_TYPE
        reason = "this is a broker; there are no controllers beside it"
        return DescribeClusterResponse(error_code=code, error_message=reason, cluster_id="", brokers=[])
    node = context.settings.node_id
    brokers = (node, request.told), *context.others(request.session.listener)
    return DescribeClusterResponse(
        error_code=Code.NONE,
        endpoint_type=_BROKERS,
        cluster_id=context.cluster_id,
        controller_id=node,
        brokers=[
            DescribeClusterBroker(broker_id=number, host=at.host, port=at.port, rack=context.racks.of(number))
            for number, at in brokers
        ],
        cluster_authorized_operations=cluster_operations(request, asked=message.include_cluster_authorized_operations),
    )
