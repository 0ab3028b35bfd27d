/* `record.loops.hash_loops`: the hash that Kafka's producers use for keys. */
#include "arrays.h"
#include "loops.h"

#define MIX 0x5BD1E995u

static uint32_t murmur2(Bytes at, int64_t size) {
    uint32_t hashed = 0x9747B28Cu ^ (uint32_t)size;
    for (; size >= 4; size -= 4, at += 4) {
        uint32_t word = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        word *= MIX;
        hashed = hashed * MIX ^ (word ^ word >> 24) * MIX;
    }
    if (size > 0) {
        uint32_t rest = at[0] | (size > 1 ? (uint32_t)at[1] << 8 : 0) | (size > 2 ? (uint32_t)at[2] << 16 : 0);
        hashed = (hashed ^ rest) * MIX;
    }
    hashed = (hashed ^ hashed >> 13) * MIX;
    return hashed ^ hashed >> 15;
}

PyObject *hash_hash_keys(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "llI"))
        return NULL;
    int64_t rows = taken.each[1].count;
    if (taken.each[0].count < rows || taken.each[2].count < rows)
        return misfit(&taken, "hash_keys");
    const int64_t *at = taken.each[0].at, *sizes = taken.each[1].at;
    uint32_t *hashed = taken.each[2].at;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t row = 0; row < rows; row++)
        if (sizes[row] >= 0)
            hashed[row] = murmur2((Bytes)(uintptr_t)at[row], sizes[row]);
    Py_END_ALLOW_THREADS
    let_go(&taken);
    Py_RETURN_NONE;
}
