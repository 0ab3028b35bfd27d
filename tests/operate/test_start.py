"""A start that cannot succeed ends, and says why."""

from __future__ import annotations

from pathlib import Path

from tests.operate.directory import serve


def test_a_wrong_address_for_subscribers_ends_the_start(tmp_path: Path) -> None:
    """O1, S2: it is told in one sentence; nothing waits for a port that will never be there."""
    code, output = serve("--data", tmp_path, "--set", "subscribe.listen=nowhere")
    assert code == 1
    assert "'nowhere' is no address" in output
