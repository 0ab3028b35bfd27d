/* `segment.time_loops`: the bounds of the timestamp deltas of each batch. */
#include "arrays.h"
#include "loops.h"

static int delta_bounds(Bytes at, int64_t size, int64_t count, int64_t *lowest, int64_t *highest) {
    Bytes end = at + size;
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (; count > 0; count--) {
        int64_t record_size, delta;
        at = read_number(at, end, &record_size);
        if (at == NULL || record_size < 1 || record_size > end - at)
            return 0;
        Bytes limit = at + record_size;
        if (read_number(at + 1, limit, &delta) == NULL) /* After the record's attributes. */
            return 0;
        low = delta < low ? delta : low;
        high = delta > high ? delta : high;
        at = limit;
    }
    *lowest = low;
    *highest = high;
    return 1;
}

PyObject *time_delta_bounds(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "lllLL"))
        return NULL;
    const Argument *a = taken.each;
    int64_t batches = a[0].count;
    if (a[1].count < batches || a[2].count < batches || a[3].count < batches || a[4].count < batches)
        return misfit(&taken, "delta_bounds");
    const int64_t *at = a[0].at, *sizes = a[1].at, *counts = a[2].at;
    int64_t *lowest = a[3].at, *highest = a[4].at;
    int is_right = 1;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t batch = 0; batch < batches && is_right; batch++)
        is_right = delta_bounds((Bytes)(uintptr_t)at[batch], sizes[batch], counts[batch], lowest + batch, highest + batch);
    Py_END_ALLOW_THREADS
    let_go(&taken);
    return PyBool_FromLong(is_right);
}
