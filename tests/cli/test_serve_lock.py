"""A served data directory is held, whatever happens to the files that say so."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.cli.test_serve import COMMAND, environment, serving


def test_deleting_the_lock_files_lets_nobody_in(tmp_path: Path) -> None:
    """W1: `rm LOCK` in the data directory and in the log's: a start and a repair are refused, and told by whom."""
    with serving(tmp_path) as first:
        (tmp_path / "LOCK").unlink()
        (tmp_path / "wal" / "LOCK").unlink()
        for words in (["serve", "--data", tmp_path, "--listen", "127.0.0.1:0"], ["repair", tmp_path]):
            second = subprocess.run([COMMAND, *words], env=environment(), capture_output=True, text=True)
            assert second.returncode == 1
            assert f"{tmp_path} is in use by process {first.pid}" in second.stderr
        assert first.poll() is None
        first.terminate()
        assert first.wait() == 0
    with serving(tmp_path) as again:
        again.terminate()
        assert again.wait() == 0
