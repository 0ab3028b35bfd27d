"""The versions of users and rules in the store: `auth/<version:020>.json`.

They lie apart from the metadata, so that a bucket's policy can keep them from those who may read topics.
"""

from __future__ import annotations

from typing import Final

from holdfast.cluster.auth import Auth, apply_auth, set_secret
from holdfast.cluster.version_log import SharedKind, Step, VersionLog
from holdfast.io.objects import Objects
from holdfast.io.versions import VersionRetries

PREFIX: Final = "auth/"
AUTH: Final = SharedKind(PREFIX, "auth", 1, Auth, Auth.from_body, apply_auth)

_SECRET_BITS = 256


class AuthLog(VersionLog[Auth]):
    """One process's view of users and rules."""

    def __init__(
        self, objects: Objects, cluster_id: str, writer: str, patience: VersionRetries, incarnation: str = ""
    ) -> None:
        super().__init__(AUTH, objects, cluster_id, writer, patience, incarnation)

    def commit(self, *steps: Step) -> Auth:
        """As any commit; the first one draws the cluster's secret."""
        if not self.value.secret:
            drawn = self._patience.chance.bits(_SECRET_BITS).to_bytes(_SECRET_BITS // 8, "big")
            steps = (set_secret(drawn), *steps)
        return super().commit(*steps)
