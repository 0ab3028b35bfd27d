"""`df.write.format("holdfast")` and `writeStream`: executors stage, the driver commits once.

Both writers do the same on executors. A batch job is one transaction; a batch of a stream is one transaction that also
records which batch it was, so that a repeat is none. What Spark calls a batch id only the driver's commit knows; which
query it is, executors read from the properties of their task.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from holdfast.client import Client
from holdfast.errors import HoldfastError, Rejected
from holdfast.io.chance import SystemChance
from holdfast.io.clock import SystemClock
from holdfast.spark.sink.columns import check_schema
from holdfast.spark.sink.commit import Commit, Written
from holdfast.spark.sink.commit_record import BatchKey, BatchMemory
from holdfast.spark.sink.options import SinkOptions, read_options
from holdfast.spark.sink.staging import Job, StagedObject, Stager, Targets
from holdfast.spark.sink.staging_sweep import sweep_job, sweep_old
from holdfast.spark.telling import sentence_first
from holdfast.spark.travel import Travelling

_QUERY = "sql.streaming.queryId"
_RUN = "spark.jobGroup.id"
_BATCH = "streaming.sql.batchId"
_CLIENT_ID = "holdfast-spark-sink"
_SWEEP_EVERY = 100  # Batches of a stream between two looks for what killed jobs have left.


@dataclass
class SinkMessage(WriterCommitMessage):
    """What a task tells the driver."""

    job: Job
    query: str
    run: str
    staged: tuple[StagedObject, ...]


def batch_writer(given: Mapping[str, str], schema: Any, *, overwrite: bool) -> BatchWriter:
    """The writer of one batch job."""
    options = _checked(given, schema, overwrite=overwrite)
    if options.topic is not None:
        with Client(options.kafka, _CLIENT_ID) as client:
            Targets(client, options.create_topics)(options.topic)  # One clear error here is worth many from tasks.
    tag = f"{SystemChance().bits(64):016x}"
    return BatchWriter(options, Job(options.sink_id or f"job-{tag}", f"job-{tag}"))


def stream_writer(given: Mapping[str, str], schema: Any, *, overwrite: bool) -> StreamWriter:
    """The writer of a stream's batches."""
    options = _checked(given, schema, overwrite=overwrite)
    if options.job_id is not None:
        raise Rejected("option jobId is for batch jobs: a stream's batches have numbers of their own")
    return StreamWriter(options)


def _checked(given: Mapping[str, str], schema: Any, *, overwrite: bool) -> SinkOptions:
    options = read_options(given)
    if overwrite:
        raise Rejected('a topic cannot be overwritten: write with mode("append"), streams with outputMode("append")')
    check_schema(schema, options.topic, include_timestamp=options.include_timestamp, json_values=options.json_values)
    return options


class BatchWriter(Travelling, DataSourceArrowWriter):
    """One job: all of it becomes visible at once, or nothing."""

    def __init__(self, options: SinkOptions, job: Job) -> None:
        self._options = options
        self._job = job

    @sentence_first()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:  # type: ignore[override]
        return SinkMessage(self._job, "", "", _stage(self._options, self._job, iterator))

    @sentence_first()
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        job_id = self._options.job_id
        key = None if job_id is None else BatchKey(f"job {job_id}", self._job.name, 0)
        memory = None if key is None else BatchMemory(self._job.sink, key)
        _commit(self._options, self._job, _staged(messages), memory)
        _tidy(self._options, self._job, thorough=True)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002
        _tidy(self._options, self._job, thorough=True)


class StreamWriter(Travelling, DataSourceStreamArrowWriter):
    """The batches of a query: each becomes visible at once, and once."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    @sentence_first()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:  # type: ignore[override]
        query, run, batch = (_property(name) for name in (_QUERY, _RUN, _BATCH))
        job = Job(self._options.sink_id or query, f"{run} {batch}")
        return SinkMessage(job, query, run, _stage(self._options, job, iterator))

    @sentence_first()
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        first = _first(messages)
        if first is None:
            return  # No task, no rows.
        memory = BatchMemory(first.job.sink, BatchKey(first.query, first.run, batchId))
        _commit(self._options, first.job, _staged(messages), memory)
        _tidy(self._options, first.job, thorough=batchId % _SWEEP_EVERY == 0)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803, ARG002
        first = _first(messages)
        if first is not None:
            _tidy(self._options, first.job, thorough=False)


def _property(name: str) -> str:
    context = TaskContext.get()
    found = context.getLocalProperty(name) if context else None
    if not found:
        raise Rejected(f"the task has no property {name}: this is no stream of a Spark that the sink knows")
    return found


def _stage(options: SinkOptions, job: Job, batches: Iterator[pa.RecordBatch]) -> tuple[StagedObject, ...]:
    context = TaskContext.get()
    assert context is not None  # Only tasks call this.
    name = f"{job.prefix}{context.partitionId():06}-{context.attemptNumber()}"
    with Client(options.kafka, _CLIENT_ID) as client:
        stager = Stager(
            options, options.staging.open(), Targets(client, options.create_topics), SystemClock(), SystemChance(), name
        )
        return tuple(stager.stage(batches))


def _commit(options: SinkOptions, job: Job, staged: Sequence[StagedObject], memory: BatchMemory | None) -> Written:
    with Client(options.kafka, _CLIENT_ID) as client:
        commit = Commit(
            client,
            options.staging.open(),
            SystemClock(),
            job.sink,
            options.transaction_timeout_ms,
            options.commit_size_max,
        )
        return commit.run(staged, memory)


def _tidy(options: SinkOptions, job: Job, *, thorough: bool) -> None:
    """Delete what was staged. What cannot be deleted now is old some day, and goes then."""
    with contextlib.suppress(HoldfastError):
        objects = options.staging.open()
        sweep_job(objects, job)
        if thorough:
            sweep_old(objects, SystemClock(), options.grace_hours)


def _first(messages: Sequence[WriterCommitMessage | None]) -> SinkMessage | None:
    return next((each for each in messages if isinstance(each, SinkMessage)), None)


def _staged(messages: Sequence[WriterCommitMessage | None]) -> list[StagedObject]:
    """In the order of the tasks, which is that of the data frame's partitions."""
    return [staged for each in messages if isinstance(each, SinkMessage) for staged in each.staged]
