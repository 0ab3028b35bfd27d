"""Known bugs of what a user of Spark, Polars, pandas or DuckDB meets first."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

FRAMES = "tests/catalog/test_frames.py"
CONNECT = "tests/spark/test_connect.py"
SINGLE = "    @sentence_first()\n"
WRITE = "    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:  # type: ignore[override]\n"

BUGS = [
    Bug(
        "frames: a time is forgotten",
        (
            Edit(
                "catalog/frames.py",
                "    batches = read_topic(catalog, topic, columns=columns, **wanted)\n",
                '    batches = read_topic(catalog, topic, columns=columns, **{**wanted, "times": Times()})\n',
            ),
            Edit(
                "catalog/frames.py",
                "from holdfast.catalog.topic import read_topic\n",
                "from holdfast.catalog.times import Times\nfrom holdfast.catalog.topic import read_topic\n",
            ),
        ),
        (f"{FRAMES}::test_what_is_not_wanted_is_not_fetched",),
    ),
    Bug(
        "errors: that of a task begins with its traceback",
        (
            Edit(
                "spark/source/source.py",
                "    with sentence_first():\n        for batch in batches:\n",
                "    if True:\n        for batch in batches:\n",
            ),
        ),
        (f"{CONNECT}::test_an_error_of_a_task",),
    ),
    Bug(
        "errors: that of a stream begins with its traceback",
        tuple(
            Edit("spark/source/stream.py", f"{SINGLE}    def {name}(", f"    def {name}(")
            for name in ("initialOffset", "latestOffset", "prepareForTriggerAvailableNow")
        ),
        (f"{CONNECT}::test_an_error_of_a_stream",),
    ),
    Bug(
        "errors: that of a row begins with its traceback",
        (Edit("spark/sink/sink.py", f"{SINGLE}{WRITE}        return", f"{WRITE}        return"),),
        (f"{CONNECT}::test_an_error_of_a_write",),
    ),
]
