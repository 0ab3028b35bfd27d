"""Features of the cluster: what ApiVersions says of them, and UpdateFeatures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Request
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

_EACH_UNTIL = 1  # Up to this version every feature has a result of its own.


class Feature(NamedTuple):
    """A feature, the levels it can have, and the one it has; level 0 is: off."""

    lowest: int
    highest: int
    level: int


FEATURES: Mapping[str, Feature] = {
    "group.version": Feature(0, 1, 1),  # Groups whose coordinator assigns partitions.
    "share.version": Feature(0, 1, 1),  # Share groups.
    "transaction.version": Feature(0, 2, 2),  # With 2, each transaction has an epoch of its own.
}


async def update(context: BrokerContext, message: UpdateFeaturesRequest, request: Request) -> UpdateFeaturesResponse:
    """Levels come with the release: asking for the one there is succeeds, every other is refused."""
    del context
    wanted = request.pace.through(message.feature_updates)
    refusals = {each.feature: _refusal(each) async for each in wanted}
    failed = [reason async for reason in request.pace.through(refusals.values()) if reason]
    if request.version > _EACH_UNTIL:
        code = Code.INVALID_UPDATE_VERSION if failed else Code.NONE
        return UpdateFeaturesResponse(error_code=code, error_message="; ".join(failed) or None)
    results = [
        UpdatableFeatureResult(
            feature=name,
            error_code=Code.INVALID_UPDATE_VERSION if reason else Code.NONE,
            error_message=reason or None,
        )
        async for name, reason in request.pace.through(refusals.items())
    ]
    return UpdateFeaturesResponse(error_code=Code.NONE, error_message=None, results=results)


def _refusal(wanted: FeatureUpdateKey) -> str:
    feature = FEATURES.get(wanted.feature)
    if feature is None:
        return f"there is no feature {wanted.feature}"
    if wanted.max_version_level != feature.level:
        return f"feature {wanted.feature} has level {feature.level}, which comes with the release"
    return ""
