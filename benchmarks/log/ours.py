"""One workload of `holdfast.log`, in a process of its own: `python -m benchmarks.log.ours WORKLOAD key=value …`."""

from __future__ import annotations

import importlib
import sys

from benchmarks.workload import Arguments

# Imported only when it is used: pyarrow and numba are no part of an append.
WORKLOADS = {
    "append": ("ours_append", "append"),
    "append_until_flushed": ("ours_append", "append_until_flushed"),
    "fill": ("ours_read", "fill"),
    "read_hot": ("ours_read", "hot"),
    "read_cached": ("ours_read", "cached"),
    "read_paged": ("ours_read", "paged"),
    "read_cold": ("ours_read", "cold"),
    "open": ("ours_open", "open_partition"),
    "decode": ("ours_decode", "decode"),
}


def main(given: list[str]) -> None:
    module, name = WORKLOADS[given[0]]
    workload = getattr(importlib.import_module(f"benchmarks.log.{module}"), name)
    print(workload(Arguments(given[1:])).to_json())


if __name__ == "__main__":
    main(sys.argv[1:])
