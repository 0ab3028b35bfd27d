/* `subscribe.merge.order_loops`: runs merged by order time, then rank, then place. */
#include "arrays.h"
#include "loops.h"

typedef struct {
    const int64_t *times;
    const void *ranks;
    int is_wide;
} Rows;

static inline int is_before(const Rows *rows, int64_t one, int64_t other) {
    if (rows->times[one] != rows->times[other])
        return rows->times[one] < rows->times[other];
    int64_t rank = number_in(rows->ranks, rows->is_wide, one), other_rank = number_in(rows->ranks, rows->is_wide, other);
    return rank != other_rank ? rank < other_rank : one < other;
}

/* Let the run at a place of the heap find its place. */
static void sink(int64_t *heap, int64_t count, const int64_t *at, const Rows *rows, int64_t place) {
    for (;;) {
        int64_t child = 2 * place + 1;
        if (child >= count)
            return;
        if (child + 1 < count && is_before(rows, at[heap[child + 1]], at[heap[child]]))
            child++;
        if (!is_before(rows, at[heap[child]], at[heap[place]]))
            return;
        int64_t run = heap[place];
        heap[place] = heap[child];
        heap[child] = run;
        place = child;
    }
}

static void merge_runs(const Rows *rows, const int64_t *starts, int64_t runs, int64_t *at, int64_t *heap, int64_t *turns) {
    int64_t count = 0;
    for (int64_t run = 0; run < runs; run++) {
        at[run] = starts[run];
        if (starts[run] < starts[run + 1])
            heap[count++] = run;
    }
    for (int64_t place = count / 2 - 1; place >= 0; place--)
        sink(heap, count, at, rows, place);
    while (count > 1) {
        int64_t run = heap[0], second = heap[1], row = at[run], end = starts[run + 1];
        if (count > 2 && is_before(rows, at[heap[2]], at[second]))
            second = heap[2];
        int64_t limit = at[second];
        while (row < end && !is_before(rows, limit, row))
            *turns++ = row++;
        at[run] = row;
        if (row == end)
            heap[0] = heap[--count];
        sink(heap, count, at, rows, 0);
    }
    if (count)
        for (int64_t row = at[heap[0]]; row < starts[heap[0] + 1]; row++)
            *turns++ = row;
}

PyObject *order_merge_runs(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "lelLLL"))
        return NULL;
    const Argument *a = taken.each;
    int64_t runs = a[2].count - 1;
    const int64_t *starts = a[2].at;
    if (runs < 0 || a[1].count < a[0].count || a[3].count < runs || a[4].count < runs || starts[runs] > a[0].count ||
        starts[runs] - starts[0] > a[5].count)
        return misfit(&taken, "merge_runs");
    Rows rows = {a[0].at, a[1].at, a[1].is_wide};
    Py_BEGIN_ALLOW_THREADS
    merge_runs(&rows, starts, runs, a[3].at, a[4].at, a[5].at);
    Py_END_ALLOW_THREADS
    let_go(&taken);
    Py_RETURN_NONE;
}
