"""ApiVersions: what we can do."""

from __future__ import annotations

from holdfast.broker.api.features import FEATURES
from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Body, Request
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from holdfast.protocol.messages import encode_response

_ZERO_FROM = 4  # Clients that ask in an older version cannot read a feature whose lowest level is 0.


async def handle(context: BrokerContext, message: ApiVersionsRequest, request: Request) -> ApiVersionsResponse:
    del message
    return answer(request.version, context.topics.metadata.version)


def answer(version: int, features_epoch: int) -> ApiVersionsResponse:
    from holdfast.broker.table import advertised  # The table lists this very function.

    features = {name: each for name, each in FEATURES.items() if each.lowest > 0 or version >= _ZERO_FROM}
    return ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=row.key, min_version=row.advertised_from, max_version=row.max_version)
            for row in advertised()
        ],
        supported_features=[
            SupportedFeatureKey(name=name, min_version=each.lowest, max_version=each.highest)
            for name, each in features.items()
        ],
        finalized_features_epoch=max(features_epoch, 0),
        finalized_features=[
            FinalizedFeatureKey(name=name, max_version_level=each.level, min_version_level=each.level)
            for name, each in features.items()
            if each.level > 0
        ],
    )


def own_versions_only() -> Body:
    """For a client that asks in a version that we do not know: in the one that everybody understands."""
    from holdfast.broker.table import advertised

    own = [row for row in advertised() if row.key == Key.API_VERSIONS]
    keys = [ApiVersion(api_key=each.key, min_version=0, max_version=each.max_version) for each in own]
    return encode_response(Key.API_VERSIONS, 0, ApiVersionsResponse(error_code=Code.UNSUPPORTED_VERSION, api_keys=keys))
