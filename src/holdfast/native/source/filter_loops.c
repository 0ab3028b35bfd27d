/* `subscribe.filter_loops`: keys held against a filter. */
#include "arrays.h"
#include "loops.h"

enum { EXACT, PREFIX, DIRECTORY };

static inline int starts_with(Bytes key, int64_t size, Bytes wanted, int64_t wanted_size) {
    return size >= wanted_size && (wanted_size == 0 || memcmp(key, wanted, (size_t)wanted_size) == 0);
}

typedef struct {
    const int64_t *kinds, *ends;
    int64_t count;
    Bytes needles;
} Filter;

static int passes(Bytes key, int64_t size, const Filter *filter) {
    for (int64_t number = 0; number < filter->count; number++) {
        int64_t first = filter->ends[number], below = filter->ends[number + 1] - first;
        if (!starts_with(key, size, filter->needles + first, below))
            continue;
        switch (filter->kinds[number]) {
        case PREFIX:
            return 1;
        case EXACT:
            if (below == size)
                return 1;
            break;
        case DIRECTORY:
            if (below < size && memchr(key + below, '/', (size_t)(size - below)) == NULL)
                return 1;
        }
    }
    return 0;
}

PyObject *filter_match(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "ebbllbbB"))
        return NULL;
    const Argument *a = taken.each;
    int64_t rows = a[0].count - 1;
    Filter filter = {a[3].at, a[4].at, a[3].count, a[5].at};
    if (a[7].count < rows || (a[2].count && a[2].count < (rows + 7) / 8) || a[4].count <= filter.count ||
        filter.ends[filter.count] > a[5].count || (rows > 0 && number_in(a[0].at, a[0].is_wide, rows) > a[1].count))
        return misfit(&taken, "match");
    Bytes data = a[1].at, validity = a[2].at, internal = a[6].at;
    int has_nulls = a[2].count > 0;
    uint8_t *passed = a[7].at;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t row = 0; row < rows; row++) {
        if (has_nulls && !(validity[row >> 3] >> (row & 7) & 1)) {
            passed[row] = filter.count == 0;
            continue;
        }
        int64_t start = number_in(a[0].at, a[0].is_wide, row), size = number_in(a[0].at, a[0].is_wide, row + 1) - start;
        if (!starts_with(data + start, size, internal, a[6].count))
            passed[row] = filter.count == 0 || passes(data + start, size, &filter);
    }
    Py_END_ALLOW_THREADS
    let_go(&taken);
    Py_RETURN_NONE;
}
