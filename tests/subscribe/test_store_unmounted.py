"""A subscription that reads segments from a local store looks whether it is there, or only its bare mount point."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import Unavailable
from holdfast.subscribe.client.server_feed import check_reachable


def test_a_bare_mount_point_is_a_store_that_is_away(tmp_path: Path) -> None:
    """D7: it is tried again. Taken for an empty store, it would end the subscription for good."""
    with pytest.raises(Unavailable, match="is its file system mounted"):
        check_reachable(tmp_path.as_uri())
    (tmp_path / "cluster.json").write_text("{}")
    check_reachable(tmp_path.as_uri())
