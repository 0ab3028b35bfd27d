"""The long form of the kill test: `python tests/sync/long.py --records 1000000`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.sync.rounds import Rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000, help="of both sides together")
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=200, help="records of one produce request")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-sync-") as folder:
        report = Rounds(Path(folder), given.seed, given.records // 2, given.kills, batch=given.batch).run()
    kills = ", ".join(f"{name} {count}" for name, count in sorted(report.kills.items()))
    print(f"{report.records:,} records both ways in {report.seconds:.1f} s, killed: {kills}")
    print(f"equal {report.caught_up_s:.1f} s after the last write; nothing lost, doubled or echoed")


if __name__ == "__main__":
    main()
