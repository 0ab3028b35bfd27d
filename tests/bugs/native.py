"""Known bugs of the loops in C: each says something else than the loop in Python."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

RECORDS = "tests/native/test_record_loops.py"
TABLES = "tests/native/test_table_loops.py"
ARGUMENTS = "tests/native/test_arguments.py"


def bug(name: str, file: str, old: str, new: str, test: str) -> Bug:
    return Bug(name, (Edit(f"native/source/{file}", old, new),), (test,))


BUGS = [
    bug(
        "what the headers of 3.13 build does not run on 3.11",
        "walk.c",
        '    PyObject *answer = Py_BuildValue("Nn", bytes, (Py_ssize_t)offset);\n',
        "    Py_XDECREF(bytes);\n"
        '    PyObject *answer = Py_BuildValue("y#n", (const char *)offsets, offsets_size, (Py_ssize_t)offset);\n',
        "tests/native/test_build.py::test_what_the_newest_python_builds_runs_on_this_one",
    ),
    bug(
        "in C a null value is an empty one",
        "read_loops.c",
        "        clear_bit(field->validity, row);\n",
        "",
        RECORDS + "::test_records_are_walked_and_gathered",
    ),
    bug(
        "in C a size may reach past its record",
        "read_loops.c",
        "    if (size < -1 || size > limit - *position) {\n",
        "    if (size < -1 || size > limit - *position + 1) {\n",
        RECORDS + "::test_what_is_malformed_is_found_at_the_same_place",
    ),
    bug(
        "in C offsets of stored records may stand still",
        "read_loops.c",
        "            if (delta < next_delta || delta > last)\n",
        "            if (delta < next_delta - 1 || delta > last)\n",
        RECORDS + "::test_what_is_malformed_is_found_at_the_same_place",
    ),
    bug(
        "in C short strings are not copied whole",
        "arrays.h",
        "        to[size >> 1] = from[size >> 1];\n",
        "",
        RECORDS + "::test_strings_of_every_size_are_copied_whole",
    ),
    bug(
        "in C numbers of nine bytes are taken for shorter ones",
        "write_loops.c",
        "(64 - __builtin_clzll(raw) + 6) / 7",
        "(64 - __builtin_clzll(raw) + 5) / 7",
        RECORDS + "::test_records_are_measured_and_written",
    ),
    bug(
        "in C an lz4 block may end with a match",
        "lz4_loops.c",
        "written - last_match >= LAST_MATCH_SIZE && (last_match < 0 || literals >= END_SIZE)",
        "written - last_match >= LAST_MATCH_SIZE",
        "tests/record/test_lz4_loops.py::test_what_is_not_beyond_doubt_is_left_to_the_library",
    ),
    bug(
        "in C a batch whose records break off has bounds of times",
        "time_loops.c",
        "        if (at == NULL || record_size < 1 || record_size > end - at)\n",
        "        if (at == NULL || record_size < 1)\n",
        TABLES + "::test_the_bounds_of_times",
    ),
    bug(
        "in C two keys of one half hash are one key",
        "key_loops.c",
        "(table->lows[slot] != low || table->highs[slot] != high)",
        "table->lows[slot] != low",
        TABLES + "::test_keys_are_hashed_learned_and_found",
    ),
    bug(
        "in C a full map of keys takes one more",
        "key_loops.c",
        "            if (keys == keys_max)\n",
        "            if (keys > keys_max)\n",
        TABLES + "::test_keys_are_hashed_learned_and_found",
    ),
    bug(
        "in C a directory has what lies below its own",
        "filter_loops.c",
        "below < size && memchr(key + below, '/', (size_t)(size - below)) == NULL",
        "below < size",
        TABLES + "::test_keys_are_held_against_a_filter",
    ),
    bug(
        "in C runs of equal times are not merged by rank",
        "order_loops.c",
        "    return rank != other_rank ? rank < other_rank : one < other;\n",
        "    return rank == other_rank && one < other;\n",
        TABLES + "::test_runs_are_merged",
    ),
    bug(
        "in C a hop that breaks off is one",
        "mark_loops.c",
        "            if (after > end) /* A hop that breaks off is not there. */\n",
        "            if (after > end + 8)\n",
        TABLES + "::test_marks_are_found_read_and_written",
    ),
    bug(
        "in C the winner itself, once more, keeps its first place",
        "winner_loops.c",
        "                slot[PLACE] = places[row]; /*",
        "                winners[row] = FREE; /*",
        TABLES + "::test_the_latest_write_wins",
    ),
    bug(
        "machine code takes arrays with other items",
        "arrays.c",
        "    if (view->itemsize != item_size(letter) && !((letter | 0x20) == 'e' && view->itemsize == 4)) {\n",
        "    if (view->itemsize == 0) {\n",
        ARGUMENTS + "::test_an_array_of_other_items_is_refused",
    ),
    bug(
        "machine code writes where nobody may write",
        "arrays.c",
        "PyBUF_C_CONTIGUOUS | (is_written ? PyBUF_WRITABLE : 0)",
        "is_written ? PyBUF_C_CONTIGUOUS : PyBUF_C_CONTIGUOUS",
        ARGUMENTS + "::test_what_is_not_to_be_written_to_is_not",
    ),
    Bug(
        "numba is loaded although C is there",
        (
            Edit(
                "native/__init__.py",
                '    return kernels is None and os.environ.get(VARIABLE) != "off" and find_spec("numba") is not None\n',
                '    return os.environ.get(VARIABLE) != "off" and find_spec("numba") is not None\n',
            ),
        ),
        ("tests/native/test_broker.py::test_no_compiler_is_loaded_into_a_broker",),
    ),
    Bug(
        "a loop in C is not taken",
        (Edit("record/compiled.py", 'f"{file}_{loop.__name__}"', 'f"{file}__{loop.__name__}"'),),
        (ARGUMENTS + "::test_every_loop_that_others_call_is_there_in_c",),
    ),
    Bug(
        "nobody is told that Python decodes",
        (Edit("record/compiled.py", "    log.warning(", "    log.debug("),),
        ("tests/record/test_without_numba.py",),
    ),
]
