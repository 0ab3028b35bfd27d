"""Known bugs of what a user of Spark, Polars, pandas or DuckDB meets first."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

FILTERS = "tests/spark/test_source_filters.py"
FRAMES = "tests/catalog/test_frames.py"
CONNECT = "tests/spark/test_connect.py"
TRAVEL = "tests/spark/test_travel.py"
IDLE = "tests/spark/test_idle.py"
PLAN = "tests/spark/test_source_plan.py"
REGISTRY = "tests/spark/test_archive_registry.py"
RULES = "tests/spark/test_stream_rules.py"
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
    Bug(
        "travel: an executor without Holdfast says nothing of it",
        (Edit("spark/travel.py", "except ImportError as missing:", "except ZeroDivisionError as missing:"),),
        (f"{TRAVEL}::test_an_executor_without_holdfast_says_so",),
    ),
    Bug(
        "travel: what is sent has lost its state",
        (Edit("spark/travel.py", "        made.__dict__.update(state)\n", "        pass\n"),),
        (f"{TRAVEL}::test_a_reader_comes_back_as_it_was",),
    ),
    Bug(
        "pack: that by which PySpark finds Holdfast is left out",
        (
            Edit(
                "spark/session/ship.py",
                "for module in (holdfast, importlib.import_module(FINDER))",
                "for module in [holdfast]",
            ),
        ),
        (f"{TRAVEL}::test_a_zip_for_who_has_the_packages",),
    ),
    Bug(
        "idle: every trigger looks at all partitions",
        (
            Edit(
                "spark/source/looks.py",
                "reached = int((now_s - self._begun_s) * len(self._partitions) / ROUND_S)",
                "reached = self._taken + len(self._partitions)",
            ),
        ),
        (f"{IDLE}::test_an_idle_stream_asks_little_of_the_store",),
    ),
    Bug(
        "idle: a rare trigger looks at one partition",
        (
            Edit(
                "spark/source/looks.py",
                "first, self._taken = max(self._taken, reached - len(self._partitions)),",
                "first, self._taken = reached - 1,",
            ),
        ),
        (f"{IDLE}::test_a_rare_trigger_misses_nothing",),
    ),
    Bug(
        "idle: nobody looks for topics",
        (Edit("spark/source/looks.py", " or self._topics_moved(view, now_s)", ""),),
        (f"{IDLE}::test_a_rare_trigger_misses_nothing",),
    ),
    Bug(
        "limits: bytes do not count",
        (Edit("spark/source/stream.py", "if size_max is not None:\n            ends", "if False:\n            ends"),),
        (f"{RULES}::test_a_limit_of_bytes",),
    ),
    Bug(
        "plan: a large piece is not cut",
        (Edit("catalog/plan.py", "    if rest.start < middle < rest.end:\n", "    if False:\n"),),
        (f"{PLAN}::test_one_partition_of_many_is_split",),
    ),
    Bug(
        "registry: who is not let in makes dead letters",
        (Edit("spark/jobs/archive/registry_values.py", "(Unavailable, NotLetIn, ModuleNotFoundError)", "Unavailable"),),
        (f"{REGISTRY}::test_a_registry_that_wants_to_know_who_asks",),
    ),
    Bug(
        "registry: a login is shown",
        (Edit("spark/jobs/archive/values.py", 'registry: str = field(default="", repr=False)', 'registry: str = ""'),),
        (f"{REGISTRY}::test_a_registry_that_wants_to_know_who_asks",),
    ),
    Bug(
        "filters: one key of several is taken for all",
        (Edit("spark/source/filters.py", "wanted.keys & keys", "keys"),),
        (f"{FILTERS}::test_keys_and_what_is_null",),
    ),
    Bug(
        "filters: what is null is taken for what is not",
        (Edit("spark/source/filters.py", "is_null if must_be else pc.invert(is_null)", "is_null"),),
        (f"{FILTERS}::test_keys_and_what_is_null",),
    ),
]
