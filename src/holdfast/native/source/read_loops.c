/* `record.loops.read_loops`. Positions are addresses: a byte is read only after it was found to lie inside its record. */
#include "arrays.h"
#include "check.h"
#include "loops.h"

#define OUTSIDE ((int64_t)1 << 62) /* The address after a number that breaks off: one check can come late. */

enum { ADDRESS, SIZE, COUNT, BASE_OFFSET, LAST_OFFSET_DELTA, BASE_TIMESTAMP, TIMESTAMP_SCALE, SPAN_COLUMNS };
enum { TIMES, KEYS, VALUES, HEADERS };

static inline uint8_t byte_at(int64_t position) { return *(Bytes)(uintptr_t)position; }

static __attribute__((noinline)) int64_t read_long_number(int64_t *position, int64_t end) {
    int64_t number = 0;
    Bytes at = (Bytes)(uintptr_t)*position;
    Bytes after = *position >= end ? NULL : read_number(at, (Bytes)(uintptr_t)end, &number);
    *position = after == NULL ? OUTSIDE : (int64_t)(uintptr_t)after;
    return after == NULL ? 0 : number;
}

/* A zigzag varint; the position goes behind it. One and two bytes are nearly all there are. */
INLINE int64_t next_number(int64_t *position, int64_t end) {
    int64_t at = *position;
    if (at + 1 >= end)
        return read_long_number(position, end);
    int64_t first = byte_at(at);
    if (first < 0x80) {
        *position = at + 1;
        return first >> 1 ^ -(first & 1);
    }
    int64_t second = byte_at(at + 1);
    if (second >= 0x80)
        return read_long_number(position, end);
    *position = at + 2;
    int64_t raw = (first & 0x7F) | second << 7;
    return raw >> 1 ^ -(raw & 1);
}

/* The size of what comes next, -1 for null; OUTSIDE if that much cannot come. */
INLINE int64_t next_size(int64_t *position, int64_t limit) {
    int64_t size = next_number(position, limit);
    if (size < -1 || size > limit - *position) {
        *position = OUTSIDE;
        return 0;
    }
    return size;
}

static int64_t skip_headers(int64_t *position, int64_t limit) {
    int64_t count = next_size(position, limit);
    if (count < 0) {
        *position = OUTSIDE;
        return 0;
    }
    for (int64_t left = count; left > 0 && *position != OUTSIDE; left--) {
        int64_t size = next_size(position, limit);
        if (size < 0) {
            *position = OUTSIDE;
            return 0;
        }
        *position += size;
        size = next_size(position, limit);
        *position += size > 0 ? size : 0;
    }
    return count;
}

static inline void clear_bit(uint8_t *bits, int64_t index) { bits[index >> 3] &= (uint8_t)~(1u << (index & 7)); }

static PyObject *checked(PyObject *const *given, Py_ssize_t count, int keeps_lock) {
    Arguments taken;
    if (!take(&taken, given, count, "nnn"))
        return NULL;
    Bytes start = (Bytes)(uintptr_t)taken.each[0].number;
    size_t size = (size_t)taken.each[1].number;
    int64_t records = taken.each[2].number;
    Checked found;
    if (keeps_lock) {
        found = check_records(start, size, records);
    } else {
        Py_BEGIN_ALLOW_THREADS
        found = check_records(start, size, records);
        Py_END_ALLOW_THREADS
    }
    if (found.wrong != FINE)
        return Py_BuildValue("(iLLiii)", found.wrong, (long long)found.index, (long long)(uintptr_t)found.at, 0, 0, 0);
    return Py_BuildValue("(iiiLLL)", FINE, 0, 0, (long long)found.keyless, (long long)found.delta_min,
                         (long long)found.delta_max);
}

PyObject *read_check(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    return checked(given, count, 0);
}

PyObject *read_check_at_once(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    return checked(given, count, 1);
}

typedef struct {
    int wrong;
    int64_t span, row, at;
} Found;

typedef struct {
    void *ends; /* One more than there are rows. */
    int64_t *at;
    uint8_t *validity;
} Field;

/* The key or the value of a row; the position goes behind it. */
INLINE void note(const Field *field, int is_wide, int64_t row, int64_t *position, int64_t limit, int64_t *end) {
    int64_t size = next_size(position, limit);
    if (size < 0) {
        clear_bit(field->validity, row);
        size = 0;
    }
    field->at[row] = *position;
    *end += size;
    put_number(field->ends, is_wide, row + 1, *end);
    *position += size;
}

INLINE Found walk(const int64_t *restrict spans, int64_t span_count, int depth, int is_wide, int64_t *restrict offsets,
                  int64_t *restrict timestamps, Field keys, Field values, Field headers) {
    int64_t row = 0;
    int64_t key_end = depth >= KEYS ? number_in(keys.ends, is_wide, 0) : 0;
    int64_t value_end = depth >= VALUES ? number_in(values.ends, is_wide, 0) : 0;
    int64_t header_end = depth >= HEADERS ? number_in(headers.ends, is_wide, 0) : 0;
    for (int64_t span = 0; span < span_count; span++, spans += SPAN_COLUMNS) {
        int64_t position = spans[ADDRESS], end = position + spans[SIZE], next_delta = 0;
        int64_t last = spans[LAST_OFFSET_DELTA], base = spans[BASE_OFFSET];
        int64_t base_timestamp = spans[BASE_TIMESTAMP], scale = spans[TIMESTAMP_SCALE];
        for (int64_t left = spans[COUNT]; left > 0; left--) {
            int64_t start = position, size = next_size(&position, end);
            if (size < 1)
                return (Found){BAD_SIZE, span, row, start};
            int64_t limit = position + size;
            position++; /* The record's attributes. */
            int64_t timestamp_delta = next_number(&position, limit), delta = next_number(&position, limit);
            if (position > limit)
                return (Found){BAD_TIMES, span, row, start};
            if (delta < next_delta || delta > last)
                return (Found){BAD_OFFSET, span, row, start};
            next_delta = delta + 1;
            offsets[row] = base + delta;
            timestamps[row] = base_timestamp + timestamp_delta * scale;
            if (depth >= KEYS)
                note(&keys, is_wide, row, &position, limit, &key_end);
            if (depth >= VALUES)
                note(&values, is_wide, row, &position, limit, &value_end);
            if (depth >= HEADERS) {
                headers.at[row] = position;
                if (position + 1 == limit && byte_at(position) == 0) /* Most records have none. */
                    position = limit;
                else
                    header_end += skip_headers(&position, limit);
                put_number(headers.ends, is_wide, row + 1, header_end);
                if (position < limit)
                    return (Found){BYTES_LEFT, span, row, start};
            }
            if (position > limit)
                return (Found){BAD_FIELDS, span, row, start};
            position = limit;
            row++;
        }
        if (position != end)
            return (Found){BYTES_LEFT, span, row, position};
    }
    return (Found){FINE, 0, 0, 0};
}

static int has_room(const Argument *ends, const Argument *at, const Argument *validity, int64_t rows) {
    return ends->count > rows && at->count >= rows && (validity == NULL || validity->count >= (rows + 7) / 8);
}

PyObject *read_walk(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "lnLLELBELBEL"))
        return NULL;
    const Argument *a = taken.each;
    const int64_t *spans = a[0].at;
    int64_t span_count = a[0].count / SPAN_COLUMNS, rows = 0;
    for (int64_t span = 0; span < span_count; span++)
        rows += spans[span * SPAN_COLUMNS + COUNT] > 0 ? spans[span * SPAN_COLUMNS + COUNT] : 0;
    int64_t depth = a[1].number;
    int is_wide = a[4].is_wide;
    if (a[0].count % SPAN_COLUMNS || a[2].count < rows || a[3].count < rows || a[7].is_wide != is_wide ||
        a[10].is_wide != is_wide || (depth >= KEYS && !has_room(&a[4], &a[5], &a[6], rows)) ||
        (depth >= VALUES && !has_room(&a[7], &a[8], &a[9], rows)) ||
        (depth >= HEADERS && !has_room(&a[10], &a[11], NULL, rows)))
        return misfit(&taken, "walk");
    Field keys = {a[4].at, a[5].at, a[6].at}, values = {a[7].at, a[8].at, a[9].at}, headers = {a[10].at, a[11].at, NULL};
    Found found;
    Py_BEGIN_ALLOW_THREADS
#define WALK(depth, is_wide) walk(spans, span_count, depth, is_wide, a[2].at, a[3].at, keys, values, headers)
    if (depth >= HEADERS)
        found = is_wide ? WALK(HEADERS, 1) : WALK(HEADERS, 0);
    else if (depth == VALUES)
        found = is_wide ? WALK(VALUES, 1) : WALK(VALUES, 0);
    else if (depth == KEYS)
        found = is_wide ? WALK(KEYS, 1) : WALK(KEYS, 0);
    else
        found = WALK(TIMES, 0);
    Py_END_ALLOW_THREADS
    let_go(&taken);
    return Py_BuildValue("(iLLL)", found.wrong, (long long)found.span, (long long)found.row, (long long)found.at);
}

PyObject *read_walk_headers(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "elELELB"))
        return NULL;
    const Argument *a = taken.each;
    int64_t rows = a[1].count, headers = a[0].count ? number_in(a[0].at, a[0].is_wide, a[0].count - 1) : 0;
    if (a[0].count <= rows || !has_room(&a[2], &a[3], NULL, headers) || !has_room(&a[4], &a[5], &a[6], headers))
        return misfit(&taken, "walk_headers");
    const int64_t *at = a[1].at;
    int64_t *key_at = a[3].at, *value_at = a[5].at;
    Py_BEGIN_ALLOW_THREADS
    int64_t key_end = number_in(a[2].at, a[2].is_wide, 0), value_end = number_in(a[4].at, a[4].is_wide, 0);
    for (int64_t row = 0; row < rows; row++) {
        int64_t header = number_in(a[0].at, a[0].is_wide, row), end = number_in(a[0].at, a[0].is_wide, row + 1);
        if (header == end)
            continue;
        int64_t position = at[row];
        next_number(&position, OUTSIDE); /* How many there are. */
        for (; header < end; header++) {
            int64_t size = next_number(&position, OUTSIDE);
            key_at[header] = position;
            put_number(a[2].at, a[2].is_wide, header + 1, key_end += size);
            position += size;
            size = next_number(&position, OUTSIDE);
            if (size < 0) {
                clear_bit(a[6].at, header);
                size = 0;
            }
            value_at[header] = position;
            put_number(a[4].at, a[4].is_wide, header + 1, value_end += size);
            position += size;
        }
    }
    Py_END_ALLOW_THREADS
    let_go(&taken);
    Py_RETURN_NONE;
}

INLINE void gather(const int64_t *restrict addresses, int64_t rows, const void *restrict ends, int is_wide,
                   uint8_t *restrict target) {
    int64_t start = rows ? number_in(ends, is_wide, 0) : 0;
    for (int64_t row = 0; row < rows; row++) {
        int64_t end = number_in(ends, is_wide, row + 1);
        copy_bytes(target + start, (Bytes)(uintptr_t)addresses[row], end - start);
        start = end;
    }
}

PyObject *read_gather(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "len"))
        return NULL;
    const Argument *a = taken.each;
    if (a[1].count <= a[0].count)
        return misfit(&taken, "gather");
    uint8_t *target = (uint8_t *)(uintptr_t)a[2].number;
    Py_BEGIN_ALLOW_THREADS
    if (a[1].is_wide)
        gather(a[0].at, a[0].count, a[1].at, 1, target);
    else
        gather(a[0].at, a[0].count, a[1].at, 0, target);
    Py_END_ALLOW_THREADS
    let_go(&taken);
    Py_RETURN_NONE;
}

typedef struct {
    int wrong;
    int64_t index, at, written, delta_max;
} Kept;

static Kept keep(int64_t address, int64_t size, const uint8_t *chosen, int64_t count, uint8_t *restrict target) {
    int64_t position = address, end = address + size, written = 0, delta_max = INT64_MIN;
    for (int64_t index = 0; index < count; index++) {
        int64_t start = position, record_size = next_size(&position, end);
        if (record_size < 1)
            return (Kept){BAD_SIZE, index, start, 0, 0};
        int64_t limit = position + record_size;
        position++;
        int64_t delta = next_number(&position, limit);
        if (position > limit)
            return (Kept){BAD_TIMES, index, start, 0, 0};
        if (chosen[index]) {
            copy_bytes(target + written, (Bytes)(uintptr_t)start, limit - start);
            written += limit - start;
            delta_max = delta > delta_max ? delta : delta_max;
        }
        position = limit;
    }
    if (position != end)
        return (Kept){BYTES_LEFT, count, position, 0, 0};
    return (Kept){FINE, 0, 0, written, delta_max};
}

PyObject *read_keep(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "nnbn"))
        return NULL;
    const Argument *a = taken.each;
    Kept kept;
    Py_BEGIN_ALLOW_THREADS
    kept = keep(a[0].number, a[1].number, a[2].at, a[2].count, (uint8_t *)(uintptr_t)a[3].number);
    Py_END_ALLOW_THREADS
    let_go(&taken);
    return Py_BuildValue("(iLLLL)", kept.wrong, (long long)kept.index, (long long)kept.at, (long long)kept.written,
                         (long long)kept.delta_max);
}
