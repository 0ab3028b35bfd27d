"""Samples as text: in the form that Prometheus reads, by its own library."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from itertools import accumulate
from typing import Any, NamedTuple

from prometheus_client import ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)

from holdfast.measure import BOUNDS, Histogram
from holdfast.metrics.catalog import METRICS
from holdfast.metrics.collect import Sample

_FAMILIES: dict[str, Callable[..., Any]] = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
    "histogram": HistogramMetricFamily,
    "info": InfoMetricFamily,
}
_LIMITS = [*map(str, BOUNDS), "+Inf"]
_OF_PROCESS = "process_"
_process = ProcessCollector(registry=None)


class Families(NamedTuple):
    """All metrics with their samples, in the order of the catalog: what the library calls a collector."""

    by_name: dict[str, Any]

    def collect(self) -> Iterable[Metric]:
        yield from self.by_name.values()
        yield from _process.collect()


async def gather(samples: AsyncIterable[Sample]) -> Families:
    """Samples sorted into their metrics."""
    described = [each for each in METRICS if not each.name.startswith(_OF_PROCESS)]
    made = {each.name: _FAMILIES[each.kind](each.name, each.meaning, labels=each.labels) for each in described}
    async for sample in samples:
        family = made[sample.metric]
        if isinstance(sample.value, Histogram):
            family.add_metric(sample.labels, _buckets(sample.value), sample.value.seconds)
        elif isinstance(family, InfoMetricFamily):
            family.add_metric((), dict(zip(_labels_of(sample.metric), sample.labels, strict=True)))
        else:
            family.add_metric(sample.labels, sample.value)
    return Families(made)


def text_of(families: Families, accept: str) -> tuple[bytes, str]:
    """The text, in the newest form that the reader accepts, and that form's name."""
    encode, content_type = choose_encoder(accept)
    return encode(families), content_type


def _buckets(histogram: Histogram) -> list[tuple[str, float]]:
    return list(zip(_LIMITS, accumulate(histogram.counts), strict=True))


def _labels_of(name: str) -> tuple[str, ...]:
    return next(each.labels for each in METRICS if each.name == name)
