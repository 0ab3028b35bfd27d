/* Arguments of the loops: numbers, and arrays by Python's buffer protocol.

   What an array must be is checked before it is used; what stands in it is believed, as in the loops of Python. */
#ifndef HOLDFAST_ARRAYS_H
#define HOLDFAST_ARRAYS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "numbers.h"

#define ARGUMENTS_MAX 18
#define INLINE static inline __attribute__((always_inline)) /* Once for each width of ends. */

typedef struct {
    void *at;       /* Of an array: where it lies, */
    int64_t count;  /* how many items it has, */
    int is_wide;    /* and whether they have 64 bits. */
    int64_t number; /* Of a number: itself. */
} Argument;

typedef struct {
    Argument each[ARGUMENTS_MAX];
    Py_buffer views[ARGUMENTS_MAX];
    int view_count;
} Arguments;

/* One letter for each argument: n a number; an array of b bytes, i 32 bits, l 64 bits, e either of both; a capital: it is
   written to. 0 with an error set if one is something else: then nothing is held. Else `let_go` comes last. */
int take(Arguments *taken, PyObject *const *given, Py_ssize_t count, const char *form);
void let_go(Arguments *taken);

/* Let go, with an error that says whose arrays are of sizes that do not belong together. */
PyObject *misfit(Arguments *taken, const char *loop);

static inline int64_t number_in(const void *ends, int is_wide, int64_t at) {
    return is_wide ? ((const int64_t *)ends)[at] : ((const int32_t *)ends)[at];
}
static inline void put_number(void *ends, int is_wide, int64_t at, int64_t number) {
    if (is_wide)
        ((int64_t *)ends)[at] = number;
    else
        ((int32_t *)ends)[at] = (int32_t)number;
}

/* Few bytes without a call: most keys are short. */
static inline void copy_bytes(uint8_t *restrict to, Bytes restrict from, int64_t size) {
    if (size > 32) {
        memcpy(to, from, (size_t)size);
    } else if (size >= 16) {
        memcpy(to, from, 16);
        memcpy(to + size - 16, from + size - 16, 16);
    } else if (size >= 8) {
        memcpy(to, from, 8);
        memcpy(to + size - 8, from + size - 8, 8);
    } else if (size >= 4) {
        memcpy(to, from, 4);
        memcpy(to + size - 4, from + size - 4, 4);
    } else if (size > 0) {
        to[0] = from[0];
        to[size >> 1] = from[size >> 1];
        to[size - 1] = from[size - 1];
    }
}

#endif
