/* `sync.origin.mark_loops`: origin marks are found, read and written. */
#include "arrays.h"
#include "loops.h"

enum { NONE = -1, PLACE_SIZE = 28, OFFSET_SIZE = 8 };

/* Byte strings of a column: their ends, and their bytes. */
typedef struct {
    const void *ends;
    int is_wide;
    Bytes data;
} Strings;

static inline int64_t end_of(const Strings *strings, int64_t number) {
    return number_in(strings->ends, strings->is_wide, number);
}

static inline int is_equal(Bytes one, int64_t size, const Argument *wanted) {
    return size == wanted->count && (size == 0 || memcmp(one, wanted->at, (size_t)size) == 0);
}

static inline int begins_with(Bytes one, int64_t size, const Argument *wanted) {
    return size >= wanted->count && is_equal(one, wanted->count, wanted);
}

static inline int is_mark(const Strings *keys, int64_t header, const Argument *wanted) {
    int64_t start = end_of(keys, header);
    return is_equal(keys->data + start, end_of(keys, header + 1) - start, wanted);
}

/* Whether there are enough ends for all headers, and enough bytes for all ends. */
static int fit(const Argument *ends, const Argument *data, int64_t headers) {
    return ends->count > headers &&
           (data == NULL || number_in(ends->at, ends->is_wide, ends->count - 1) <= data->count);
}

static int64_t headers_of(const Argument *header_ends, int64_t rows) {
    return header_ends->count > rows ? number_in(header_ends->at, header_ends->is_wide, rows) : INT64_MAX;
}

INLINE void find(const void *ends, int is_wide, Strings keys, Argument wanted, int64_t rows, int64_t *restrict found) {
    int64_t first, after = rows ? number_in(ends, is_wide, 0) : 0;
    for (int64_t row = 0; row < rows; row++) {
        first = after;
        after = number_in(ends, is_wide, row + 1);
        int64_t header = after - 1;
        while (header >= first && !is_mark(&keys, header, &wanted))
            header--;
        found[row] = header >= first ? header : NONE;
    }
}

PyObject *mark_find(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "eebbL"))
        return NULL;
    const Argument *a = taken.each;
    int64_t rows = a[4].count, *found = a[4].at;
    if (!fit(&a[1], &a[2], headers_of(&a[0], rows)))
        return misfit(&taken, "find");
    Py_BEGIN_ALLOW_THREADS
    if (a[0].is_wide || a[1].is_wide)
        find(a[0].at, a[0].is_wide, (Strings){a[1].at, a[1].is_wide, a[2].at}, a[3], rows, found);
    else
        find(a[0].at, 0, (Strings){a[1].at, 0, a[2].at}, a[3], rows, found); /* As decoding gives them. */
    Py_END_ALLOW_THREADS
    let_go(&taken);
    Py_RETURN_NONE;
}

PyObject *mark_read_offsets(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "lebbL"))
        return NULL;
    const Argument *a = taken.each;
    const int64_t *found = a[0].at;
    int64_t rows = a[0].count, *offsets = a[4].at;
    if (a[4].count < rows || !fit(&a[1], &a[2], 0))
        return misfit(&taken, "read_offsets");
    Strings values = {a[1].at, a[1].is_wide, a[2].at};
    Py_BEGIN_ALLOW_THREADS
    for (int64_t row = 0; row < rows; row++) {
        offsets[row] = NONE;
        if (found[row] == NONE)
            continue;
        int64_t start = end_of(&values, found[row]), size = end_of(&values, found[row] + 1) - start;
        if (size >= a[3].count + OFFSET_SIZE && begins_with(values.data + start, size, &a[3]))
            offsets[row] = (int64_t)big64(values.data + start + a[3].count);
    }
    Py_END_ALLOW_THREADS
    let_go(&taken);
    Py_RETURN_NONE;
}

PyObject *mark_walk(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "lebnbBL"))
        return NULL;
    const Argument *a = taken.each;
    const int64_t *found = a[0].at;
    int64_t rows = a[0].count, *origin = a[6].at;
    uint8_t *older = a[5].at;
    if (a[5].count < rows || a[6].count < rows || !fit(&a[1], &a[2], 0))
        return misfit(&taken, "walk");
    Strings values = {a[1].at, a[1].is_wide, a[2].at};
    Py_BEGIN_ALLOW_THREADS
    for (int64_t row = 0; row < rows; row++) {
        older[row] = 0;
        origin[row] = NONE;
        if (found[row] == NONE)
            continue;
        int64_t position = end_of(&values, found[row]), end = end_of(&values, found[row] + 1);
        if (position == end || values.data[position] != a[3].number)
            continue;
        int64_t newest = ++position;
        while (position < end) {
            int64_t after = position + 1 + values.data[position] + PLACE_SIZE;
            if (after > end) /* A hop that breaks off is not there. */
                break;
            if (position != newest && begins_with(values.data + position, after - position, &a[4]))
                older[row] = 1;
            origin[row] = position;
            position = after;
        }
    }
    Py_END_ALLOW_THREADS
    let_go(&taken);
    Py_RETURN_NONE;
}

/* The size of the path of a row, without its version; 0 if it has none, or one that is too long. */
static inline int64_t path_size(const Strings *values, int64_t mark, int64_t size_max) {
    if (mark == NONE)
        return 0;
    int64_t size = end_of(values, mark + 1) - end_of(values, mark);
    return size > 1 && size <= size_max ? size - 1 : 0;
}

PyObject *mark_measure(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "eebebln"))
        return NULL;
    const Argument *a = taken.each;
    const int64_t *found = a[5].at;
    int64_t rows = a[5].count, headers = headers_of(&a[0], rows), others = 0, key_size = 0, value_size = 0;
    if (!fit(&a[1], &a[2], headers) || !fit(&a[3], NULL, headers))
        return misfit(&taken, "measure");
    Strings keys = {a[1].at, a[1].is_wide, a[2].at}, values = {a[3].at, a[3].is_wide, NULL};
    Py_BEGIN_ALLOW_THREADS
    for (int64_t row = 0; row < rows; row++) {
        int64_t end = number_in(a[0].at, a[0].is_wide, row + 1);
        for (int64_t header = number_in(a[0].at, a[0].is_wide, row); header < end; header++) {
            if (is_mark(&keys, header, &a[4]))
                continue;
            others++;
            key_size += end_of(&keys, header + 1) - end_of(&keys, header);
            value_size += end_of(&values, header + 1) - end_of(&values, header);
        }
        value_size += path_size(&values, found[row], a[6].number);
    }
    Py_END_ALLOW_THREADS
    let_go(&taken);
    return Py_BuildValue("(LLL)", (long long)others, (long long)key_size, (long long)value_size);
}

/* Byte strings that are written one behind the other. */
typedef struct {
    int64_t *ends;
    uint8_t *data;
    int64_t size, room;
} Written;

/* 0 if there is no room. */
static inline int put(Written *to, Bytes from, int64_t size) {
    if (size > to->room - to->size)
        return 0;
    copy_bytes(to->data + to->size, from, size);
    to->size += size;
    return 1;
}

typedef struct {
    const Argument *header_ends, *wanted, *begins;
    Strings keys, values;
    const uint8_t *valid;
    const int64_t *found, *offsets;
    int64_t path_size_max;
} Old;

typedef struct {
    int64_t *ends, header, header_max;
    Written keys, values;
    uint8_t *valid;
} New;

static inline int end_header(New *new, int is_valid) {
    if (new->header == new->header_max)
        return 0;
    new->valid[new->header++] = (uint8_t)is_valid;
    new->keys.ends[new->header] = new->keys.size;
    new->values.ends[new->header] = new->values.size;
    return 1;
}

static int write_others(const Old *old, New *new, int64_t row) {
    int64_t end = number_in(old->header_ends->at, old->header_ends->is_wide, row + 1);
    for (int64_t each = number_in(old->header_ends->at, old->header_ends->is_wide, row); each < end; each++) {
        if (is_mark(&old->keys, each, old->wanted))
            continue;
        int64_t key = end_of(&old->keys, each), value = end_of(&old->values, each);
        if (!put(&new->keys, old->keys.data + key, end_of(&old->keys, each + 1) - key) ||
            !put(&new->values, old->values.data + value, end_of(&old->values, each + 1) - value) ||
            !end_header(new, old->valid[each]))
            return 0;
    }
    return 1;
}

static int write_mark(const Old *old, New *new, int64_t row) {
    uint8_t offset[OFFSET_SIZE];
    int64_t mark = old->found[row], size = path_size(&old->values, mark, old->path_size_max);
    put_big64(offset, (uint64_t)old->offsets[row]);
    return put(&new->keys, old->wanted->at, old->wanted->count) &&
           put(&new->values, old->begins->at, old->begins->count) && put(&new->values, offset, OFFSET_SIZE) &&
           (size == 0 || put(&new->values, old->values.data + end_of(&old->values, mark) + 1, size)) && end_header(new, 1);
}

PyObject *mark_write(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "eebebbblnblLLBLBB"))
        return NULL;
    const Argument *a = taken.each;
    int64_t rows = a[7].count, headers = headers_of(&a[0], rows);
    int is_right = fit(&a[1], &a[2], headers) && fit(&a[3], &a[4], headers) && a[5].count >= headers &&
                   a[10].count >= rows && a[11].count > rows && a[12].count > a[16].count && a[14].count > a[16].count;
    Old old = {&a[0], &a[6], &a[9], {a[1].at, a[1].is_wide, a[2].at}, {a[3].at, a[3].is_wide, a[4].at}, a[5].at,
               a[7].at, a[10].at, a[8].number};
    New new = {a[11].at, 0, a[16].count, {a[12].at, a[13].at, 0, a[13].count}, {a[14].at, a[15].at, 0, a[15].count},
               a[16].at};
    Py_BEGIN_ALLOW_THREADS
    for (int64_t row = 0; row < rows && is_right; row++) {
        is_right = write_others(&old, &new, row) && write_mark(&old, &new, row);
        new.ends[row + 1] = new.header;
    }
    Py_END_ALLOW_THREADS
    if (!is_right)
        return misfit(&taken, "write");
    let_go(&taken);
    Py_RETURN_NONE;
}
