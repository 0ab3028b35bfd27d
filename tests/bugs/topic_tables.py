"""Known bugs of tables that are kept fresh."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

MERGED = "spark/jobs/archive/iceberg_merged.py"
ICEBERG = "tests/spark/test_iceberg_upkeep.py"
TABLES = "tests/spark/test_tables.py"
REGISTRY = "tests/spark/test_archive_registry.py"
FOLLOW = "tests/spark/test_follow.py"
COLUMNS = "tests/spark/test_archive_columns.py"

BUGS = [
    Bug(
        "follow: every round looks for new topics",
        (
            Edit(
                "spark/jobs/archive/follow.py",
                "topics = reached is None or self._clock.monotonic() >= self._topics_at",
                "topics = True",
            ),
        ),
        (f"{FOLLOW}::test_an_idle_round_is_one_small_read",),
    ),
    Bug(
        "follow: a broker is asked, and its tail is not flushed",
        (
            Edit(
                "spark/jobs/archive/follow.py",
                "                self._asked().flush_topic(each)\n",
                "                pass\n",
            ),
        ),
        (f"{FOLLOW}::test_an_idle_round_with_a_broker_asks_it_alone",),
    ),
    Bug(
        "follow: microseconds pass for milliseconds",
        (
            Edit(
                "spark/jobs/archive/write.py",
                'per_unit = 1000 if pa.types.is_timestamp(column.type) and column.type.unit == "us" else 1',
                "per_unit = 1",
            ),
        ),
        (f"{FOLLOW}::test_how_fresh_a_step_is",),
    ),
    Bug(
        "columns: a narrower type is taken for the same",
        (Edit("spark/jobs/archive/columns.py", "and (kind, wanted[name]) not in WIDER:", "and False:"),),
        (f"{COLUMNS}::test_a_narrower_type",),
    ),
    Bug(
        "columns: a field with another name becomes another column",
        (
            Edit(
                "spark/jobs/archive/archive.py",
                "        decoding = decoding.under(target.columns())\n",
                "        pass\n",
            ),
        ),
        (f"{COLUMNS}::test_what_a_table_takes_up",),
    ),
    Bug(
        "columns: the newest ones of a Parquet archive are written once only",
        (
            Edit(
                "spark/jobs/archive/parquet.py",
                'if newest is None or newest.memory.get("columns") != columns_of(schemas[RECORDS]):',
                "if newest is None:",
            ),
        ),
        (f"{COLUMNS}::test_what_a_table_takes_up",),
    ),
    Bug(
        "columns: --keep-value is taken up by a table whose rows have lost theirs",
        (
            Edit(
                "spark/jobs/archive/columns.py",
                "    if there and _VALUE not in there",
                "    if False and _VALUE not in there",
            ),
        ),
        (f"{COLUMNS}::test_the_value_beside_its_columns",),
    ),
    Bug(
        "tables: what is wrong with one stops the others",
        (
            Edit(
                "spark/jobs/tables/keep.py",
                "        except Exception as failure:  # Whatever it is",
                "        except OSError as failure:  # Whatever it is",
            ),
        ),
        (f"{TABLES}::test_one_application_keeps_all_tables_fresh",),
    ),
    Bug(
        "tables: a place whose name begins like an allowed one passes",
        (
            Edit(
                "spark/jobs/tables/wanted.py",
                """f"{each}/".startswith(f"{place.rstrip('/')}/")""",
                """each.startswith(place)""",
            ),
        ),
        (f"{TABLES}::test_tables_lie_below_a_place_that_is_named",),
    ),
    Bug(
        "tables: a sync carries them to another cluster",
        (Edit("sync/topics.py", " and not name.startswith(_TABLE)", ""),),
        (f"{TABLES}::test_a_sync_leaves_tables_where_they_are",),
    ),
    Bug(
        "tables: what was replaced is deleted under its readers",
        (Edit("spark/jobs/tables/upkeep.py", "hours = int(self._settings.old_s // 3600)", "hours = 0"),),
        (f"{TABLES}::test_small_files_are_merged_and_old_ones_go",),
    ),
    Bug(
        "registry: values become dead letters while it is away",
        (
            Edit(
                "spark/jobs/archive/registry_values.py",
                "        except (Unavailable, NotLetIn, ModuleNotFoundError):",
                "        except (NotLetIn, ModuleNotFoundError):",
            ),
        ),
        (f"{REGISTRY}::test_each_value_by_its_own_schema",),
    ),
    Bug(
        "tables: an Iceberg snapshot goes that stood for the table until just now",
        (Edit(MERGED, "if then.timestamp_ms <= before_ms", "if each.timestamp_ms <= before_ms"),),
        (f"{ICEBERG}::test_who_reads_what_was_replaced_goes_on_for_a_week",),
    ),
    Bug(
        "tables: a merge of Iceberg files leaves the small ones in the table",
        (Edit(MERGED, "                        change.delete_data_file(old)\n", "                        pass\n"),),
        (f"{ICEBERG}::test_who_reads_what_was_replaced_goes_on_for_a_week",),
    ),
    Bug(
        "tables: a merge of Iceberg files counts as rows that were overwritten",
        (Edit(MERGED, "Summary(Operation.REPLACE,", "Summary(Operation.OVERWRITE,"),),
        (f"{ICEBERG}::test_who_reads_what_was_replaced_goes_on_for_a_week",),
    ),
    Bug(
        "tables: files of an Iceberg table that no snapshot names are deleted at once",
        (Edit(MERGED, "each.modified_ms <= before_ms and ", ""),),
        (f"{ICEBERG}::test_files_of_runs_that_are_under_way_stay",),
    ),
    Bug(
        "tables: a column of an Iceberg table that was renamed is merged under both names",
        (Edit(MERGED, "        if all(columns.issuperset(", "        if True or all(columns.issuperset("),),
        (f"{ICEBERG}::test_files_that_have_a_column_by_its_old_name_stay_as_they_are",),
    ),
]
