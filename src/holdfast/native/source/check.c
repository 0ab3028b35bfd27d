#include "check.h"

/* A size, -1 for null, and what comes after it; NULL if that much cannot come before `limit`. */
static Bytes read_size(Bytes at, Bytes limit, int64_t *size) {
    Bytes after = read_int(at, limit, size);
    return after != NULL && *size >= -1 && *size <= limit - after ? after : NULL;
}

static Bytes skip_field(Bytes at, Bytes limit, int64_t *size) {
    Bytes after = read_size(at, limit, size);
    return after == NULL ? NULL : after + (*size > 0 ? *size : 0);
}

static Bytes skip_headers(Bytes at, Bytes limit) {
    int64_t count, size;
    at = read_size(at, limit, &count);
    if (at == NULL || count < 0)
        return NULL;
    for (; count > 0; count--) {
        at = skip_field(at, limit, &size);
        if (at == NULL || size < 0)
            return NULL;
        at = skip_field(at, limit, &size);
        if (at == NULL)
            return NULL;
    }
    return at;
}

Checked check_records(Bytes start, size_t whole, int64_t count) {
    Checked found = {FINE, 0, start, -1, INT64_MAX, INT64_MIN};
    Bytes at = start, end = start + whole;
    for (int64_t index = 0; index < count; index++) {
        int64_t size, delta, offset_delta, key_size, value_size;
        found.index = index;
        found.at = at;
        at = read_size(at, end, &size);
        if (at == NULL || size < 1)
            return found.wrong = BAD_SIZE, found;
        Bytes limit = at + size;
        at = read_number(at + 1, limit, &delta); /* After the record's attributes. */
        at = at == NULL ? NULL : read_int(at, limit, &offset_delta);
        if (at == NULL)
            return found.wrong = BAD_TIMES, found;
        if (offset_delta != index)
            return found.wrong = BAD_OFFSET, found;
        found.delta_min = delta < found.delta_min ? delta : found.delta_min;
        found.delta_max = delta > found.delta_max ? delta : found.delta_max;
        at = skip_field(at, limit, &key_size);
        at = at == NULL ? NULL : skip_field(at, limit, &value_size);
        if (at == NULL)
            return found.wrong = BAD_FIELDS, found;
        if (key_size < 0 && found.keyless < 0)
            found.keyless = index;
        at = at + 1 == limit && *at == 0 ? limit : skip_headers(at, limit); /* Most records have none. */
        if (at == NULL)
            return found.wrong = BAD_FIELDS, found;
        if (at < limit)
            return found.wrong = BYTES_LEFT, found;
    }
    if (at != end) {
        found.wrong = BYTES_LEFT;
        found.index = count;
        found.at = at;
    }
    return found;
}
