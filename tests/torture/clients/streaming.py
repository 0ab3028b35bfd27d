"""A Spark stream from all kept topics to files, in a process of its own (`spark_driver.py`)."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.torture.ground import KEPT, Ground

ROOT = Path(__file__).parents[3]
_FINISH_S = 240.0
STOP = "stop"  # The file that tells the driver to come to the end of what is there.


@dataclass
class Streamer:
    """Spark follows the topics until writers are told to stop; `finish` lets it come to the end and write that down."""

    folder: Path
    name: str = "streamer"

    def run(self, ground: Ground) -> None:
        history = ground.history(self.name)
        self.folder.mkdir()
        topics = ",".join(topic.name for topic in KEPT)
        assert ground.store is not None
        where = [str(self.folder), str(ground.folder), ground.bootstrap, ground.store.url, topics]
        with (self.folder / "said").open("ab") as said:
            self._driver = subprocess.Popen(
                [sys.executable, "-m", "tests.torture.spark_driver", *where],
                cwd=ROOT,
                env={**os.environ, **ground.store.environment},
                stdout=said,
                stderr=said,
            )
        while not ground.writing.wait(0.5):
            if self._driver.poll() is not None:
                history.info("unfinished", what=f"Spark's driver has ended: {self._said()}")
                break
        history.close()

    def finish(self, ground: Ground) -> None:
        history = ground.history(self.name)
        (self.folder / STOP).touch()
        try:
            if self._driver.wait(_FINISH_S):
                history.info("unfinished", what=f"Spark's driver has failed: {self._said()}")
        except subprocess.TimeoutExpired:
            history.info("unfinished", what=f"Spark did not come to the end: {self._said()}")
        history.close()

    def _said(self) -> str:
        return (self.folder / "said").read_text()[-1500:]

    def close(self) -> None:
        if self._driver.poll() is None:
            self._driver.kill()
            self._driver.wait()
