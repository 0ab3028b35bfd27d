/* `segment.compaction.key_loops`, which says what the hash and the table are: SipHash-2-4 with 128 bits, open addressing. */
#include "arrays.h"
#include "loops.h"

typedef struct {
    uint64_t a, b, c, d;
} Siphash;

static inline uint64_t turn(uint64_t number, int count) { return number << count | number >> (64 - count); }

static inline void rounds(Siphash *s, int count) {
    while (count-- > 0) {
        s->a += s->b;
        s->b = turn(s->b, 13) ^ s->a;
        s->a = turn(s->a, 32);
        s->c += s->d;
        s->d = turn(s->d, 16) ^ s->c;
        s->a += s->d;
        s->d = turn(s->d, 21) ^ s->a;
        s->c += s->b;
        s->b = turn(s->b, 17) ^ s->c;
        s->c = turn(s->c, 32);
    }
}

static inline void add(Siphash *s, uint64_t word) {
    s->d ^= word;
    rounds(s, 2);
    s->a ^= word;
}

static inline uint64_t little64(Bytes at) {
    uint64_t word = 0;
    for (int byte = 0; byte < 8; byte++)
        word |= (uint64_t)at[byte] << (8 * byte);
    return word;
}

static void hash(Bytes at, int64_t size, uint64_t secret_low, uint64_t secret_high, uint64_t *low, uint64_t *high) {
    Siphash s = {secret_low ^ 0x736F6D6570736575u, secret_high ^ 0x646F72616E646F6Du ^ 0xEE,
                 secret_low ^ 0x6C7967656E657261u, secret_high ^ 0x7465646279746573u};
    uint64_t last = (uint64_t)(size & 0xFF) << 56;
    for (; size >= 8; size -= 8, at += 8)
        add(&s, little64(at));
    for (int64_t byte = 0; byte < size; byte++)
        last |= (uint64_t)at[byte] << (8 * byte);
    add(&s, last);
    s.c ^= 0xEE;
    rounds(&s, 4);
    *low = s.a ^ s.b ^ s.c ^ s.d;
    s.b ^= 0xDD;
    rounds(&s, 4);
    *high = s.a ^ s.b ^ s.c ^ s.d;
}

PyObject *key_hash_keys(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "eblLL"))
        return NULL;
    const Argument *a = taken.each;
    int64_t rows = a[3].count;
    if (a[0].count <= rows || a[2].count != 2 || a[4].count < rows || number_in(a[0].at, a[0].is_wide, rows) > a[1].count)
        return misfit(&taken, "hash_keys");
    Bytes data = a[1].at;
    const uint64_t *secret = a[2].at;
    uint64_t *lows = a[3].at, *highs = a[4].at;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t row = 0; row < rows; row++) {
        int64_t start = number_in(a[0].at, a[0].is_wide, row), end = number_in(a[0].at, a[0].is_wide, row + 1);
        hash(data + start, end - start, secret[0], secret[1], lows + row, highs + row);
    }
    Py_END_ALLOW_THREADS
    let_go(&taken);
    Py_RETURN_NONE;
}

typedef struct {
    uint64_t *lows, *highs;
    int64_t *offsets; /* -1: the slot is free. */
    int64_t mask;
} Table;

static int is_table(const Argument *a, Table *table) {
    int64_t slots = a[2].count;
    *table = (Table){a[0].at, a[1].at, a[2].at, slots - 1};
    return slots > 0 && (slots & (slots - 1)) == 0 && a[0].count == slots && a[1].count == slots;
}

/* Where a hash is in the table, or where it would go. */
static inline int64_t slot_of(const Table *table, uint64_t low, uint64_t high) {
    int64_t slot = (int64_t)low & table->mask;
    while (table->offsets[slot] >= 0 && (table->lows[slot] != low || table->highs[slot] != high))
        slot = (slot + 1) & table->mask;
    return slot;
}

PyObject *key_learn(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "LLLnnlllb"))
        return NULL;
    const Argument *a = taken.each;
    int64_t keys = a[3].number, keys_max = a[4].number, rows = a[7].count, row = 0;
    Table table;
    if (!is_table(a, &table) || a[5].count < rows || a[6].count < rows || a[8].count < rows || keys_max >= a[2].count)
        return misfit(&taken, "learn");
    const uint64_t *lows = a[5].at, *highs = a[6].at;
    const int64_t *offsets = a[7].at;
    const uint8_t *counts = a[8].at;
    Py_BEGIN_ALLOW_THREADS
    for (; row < rows; row++) {
        if (!counts[row])
            continue;
        int64_t slot = slot_of(&table, lows[row], highs[row]);
        if (table.offsets[slot] < 0) {
            if (keys == keys_max)
                break;
            table.lows[slot] = lows[row];
            table.highs[slot] = highs[row];
            keys++;
        }
        table.offsets[slot] = offsets[row];
    }
    Py_END_ALLOW_THREADS
    let_go(&taken);
    return Py_BuildValue("(LL)", (long long)row, (long long)keys);
}

PyObject *key_find_last(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "llllllB"))
        return NULL;
    const Argument *a = taken.each;
    int64_t rows = a[5].count;
    Table table;
    if (!is_table(a, &table) || a[3].count < rows || a[4].count < rows || a[6].count < rows)
        return misfit(&taken, "find_last");
    const uint64_t *lows = a[3].at, *highs = a[4].at;
    const int64_t *offsets = a[5].at;
    uint8_t *keep = a[6].at;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t row = 0; row < rows; row++)
        if (keep[row])
            keep[row] = table.offsets[slot_of(&table, lows[row], highs[row])] <= offsets[row];
    Py_END_ALLOW_THREADS
    let_go(&taken);
    Py_RETURN_NONE;
}
