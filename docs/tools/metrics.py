"""Writes the page of metrics from the code: `make docs`. With --check it only compares, for the tests."""

from __future__ import annotations

from pathlib import Path

from publish import publish

from holdfast.metrics.catalog import METRICS, Metric, exposed

PAGE = Path(__file__).parents[1] / "reference" / "metrics.md"
NOTICE = "<!-- Written by docs/tools/metrics.py from the code. Do not edit: change the code, then `make docs`. -->"
HEAD = """# Metrics

`holdfast serve --metrics HOST:PORT` serves these at `/metrics`, as text that Prometheus reads, or as OpenMetrics to a
reader that asks for it. The [guide](../guides/metrics.md) says how to use them. A histogram is there as `_bucket`,
`_sum` and `_count`; times are in seconds, sizes in bytes. A metric with labels is there once there is one to count.

| metric | kind | labels | meaning |
|---|---|---|---|
"""


def row(metric: Metric) -> str:
    name = exposed(metric)[0].removesuffix("_bucket")
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{name}` | {metric.kind} | {labels} | {metric.meaning} |"


if __name__ == "__main__":
    publish(PAGE, f"{NOTICE}\n{HEAD}" + "\n".join(map(row, METRICS)) + "\n")
