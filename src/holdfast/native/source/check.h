/* Look into the records of one batch, as a client sends it. `record.loops.read_loops.check` says the rules. */
#ifndef HOLDFAST_CHECK_H
#define HOLDFAST_CHECK_H

#include "numbers.h"

enum { FINE, BAD_SIZE, BAD_TIMES, BAD_OFFSET, BAD_FIELDS, BYTES_LEFT };

typedef struct {
    int wrong;         /* One of the above; if it is not FINE, */
    int64_t index;     /* of which record, */
    Bytes at;          /* which begins here. */
    int64_t keyless;   /* The first record without a key; -1 if all have one. */
    int64_t delta_min; /* Of timestamps. */
    int64_t delta_max;
} Checked;

Checked check_records(Bytes start, size_t size, int64_t count);

#endif
