/* `record.loops.write_loops`: the size of each record, then the bytes. */
#include "arrays.h"
#include "loops.h"

static inline uint64_t zigzag(int64_t number) { return (uint64_t)number << 1 ^ (uint64_t)(number >> 63); }

static inline int64_t number_size(int64_t number) {
    uint64_t raw = zigzag(number);
    return raw < 0x80 ? 1 : (64 - __builtin_clzll(raw) + 6) / 7;
}

static inline int64_t field_size(int64_t size) { return number_size(size) + (size > 0 ? size : 0); }

static inline uint8_t *write_number(uint8_t *target, int64_t number) {
    uint64_t raw = zigzag(number);
    while (raw > 0x7F) {
        *target++ = (uint8_t)(raw | 0x80);
        raw >>= 7;
    }
    *target++ = (uint8_t)raw;
    return target;
}

static inline uint8_t *write_field(uint8_t *target, int64_t at, int64_t size) {
    target = write_number(target, size);
    if (size <= 0)
        return target;
    copy_bytes(target, (Bytes)(uintptr_t)at, size);
    return target + size;
}

/* Whether all these arrays have that many items. */
static int have(const Argument *arguments, int first, int after, int64_t rows) {
    for (int place = first; place < after; place++)
        if (arguments[place].count < rows)
            return 0;
    return 1;
}

PyObject *write_measure(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "llllllllL"))
        return NULL;
    const Argument *a = taken.each;
    int64_t rows = a[8].count, total = 0;
    if (!have(a, 0, 6, rows) || a[6].count != a[7].count)
        return misfit(&taken, "measure");
    const int64_t *restrict timestamp_deltas = a[0].at, *restrict offset_deltas = a[1].at, *restrict key_sizes = a[2].at;
    const int64_t *restrict value_sizes = a[3].at, *restrict starts = a[4].at, *restrict ends = a[5].at;
    const int64_t *restrict header_key_sizes = a[6].at, *restrict header_value_sizes = a[7].at;
    int64_t *restrict sizes = a[8].at;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t row = 0; row < rows; row++) {
        int64_t size = 1 + number_size(timestamp_deltas[row]) + number_size(offset_deltas[row]);
        size += field_size(key_sizes[row]) + field_size(value_sizes[row]);
        size += number_size(ends[row] - starts[row]);
        for (int64_t header = starts[row]; header < ends[row]; header++)
            size += field_size(header_key_sizes[header]) + field_size(header_value_sizes[header]);
        sizes[row] = size;
        total += field_size(size);
    }
    Py_END_ALLOW_THREADS
    let_go(&taken);
    return PyLong_FromLongLong(total);
}

PyObject *write_write(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "llllllllllllln"))
        return NULL;
    const Argument *a = taken.each;
    int64_t rows = a[12].count;
    if (!have(a, 0, 8, rows) || !have(a, 8, 12, a[9].count))
        return misfit(&taken, "write");
    const int64_t *timestamp_deltas = a[0].at, *offset_deltas = a[1].at, *key_at = a[2].at, *key_sizes = a[3].at;
    const int64_t *value_at = a[4].at, *value_sizes = a[5].at, *starts = a[6].at, *ends = a[7].at;
    const int64_t *header_key_at = a[8].at, *header_key_sizes = a[9].at;
    const int64_t *header_value_at = a[10].at, *header_value_sizes = a[11].at, *sizes = a[12].at;
    uint8_t *target = (uint8_t *)(uintptr_t)a[13].number;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t row = 0; row < rows; row++) {
        target = write_number(target, sizes[row]);
        *target++ = 0; /* The attributes of a record: none are defined. */
        target = write_number(target, timestamp_deltas[row]);
        target = write_number(target, offset_deltas[row]);
        target = write_field(target, key_at[row], key_sizes[row]);
        target = write_field(target, value_at[row], value_sizes[row]);
        target = write_number(target, ends[row] - starts[row]);
        for (int64_t header = starts[row]; header < ends[row]; header++) {
            target = write_field(target, header_key_at[header], header_key_sizes[header]);
            target = write_field(target, header_value_at[header], header_value_sizes[header]);
        }
    }
    Py_END_ALLOW_THREADS
    let_go(&taken);
    return PyLong_FromLongLong((long long)(uintptr_t)target);
}
