/* The loops of Python's `…_loops` files, in C: FILE_NAME is what `FILE_loops.NAME` is there, and says how it is called.

   `record.compiled` puts them in the place of those, and `tests/native` holds both to the same answers. */
#ifndef HOLDFAST_LOOPS_H
#define HOLDFAST_LOOPS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define LOOPS(EACH)                                                                                                    \
    EACH(read_check)                                                                                                   \
    EACH(read_check_at_once)                                                                                           \
    EACH(read_walk)                                                                                                    \
    EACH(read_walk_headers)                                                                                            \
    EACH(read_gather)                                                                                                  \
    EACH(read_keep)                                                                                                    \
    EACH(write_measure)                                                                                                \
    EACH(write_write)                                                                                                  \
    EACH(hash_hash_keys)                                                                                               \
    EACH(lz4_expand_frame)                                                                                             \
    EACH(time_delta_bounds)                                                                                            \
    EACH(key_hash_keys)                                                                                                \
    EACH(key_learn)                                                                                                    \
    EACH(key_find_last)                                                                                                \
    EACH(filter_match)                                                                                                 \
    EACH(order_merge_runs)                                                                                             \
    EACH(mark_find)                                                                                                    \
    EACH(mark_read_offsets)                                                                                            \
    EACH(mark_walk)                                                                                                    \
    EACH(mark_measure)                                                                                                 \
    EACH(mark_write)                                                                                                   \
    EACH(winner_meet)                                                                                                  \
    EACH(winner_choose)                                                                                                \
    EACH(winner_move)                                                                                                  \
    EACH(winner_rank_of)

#define DECLARED(name) PyObject *name(PyObject *module, PyObject *const *given, Py_ssize_t count);
LOOPS(DECLARED)

#endif
