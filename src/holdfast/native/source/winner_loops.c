/* `sync.carry.winner_loops`: for each key the highest version that was met, and where it lies. */
#include "arrays.h"
#include "loops.h"

enum { LOW, HIGH, TIME, RANK, OFFSET, PLACE, COLUMNS };
enum { FREE = -1, RANK_SIZE = 8, HOP_OFFSET_AT = 20 /* Behind topic id and partition. */ };
#define COMING ((int64_t)1 << 62)

static int is_table(const Argument *given) {
    int64_t slots = given->count / COLUMNS;
    return given->count % COLUMNS == 0 && slots > 0 && (slots & (slots - 1)) == 0;
}

/* The slot where a key is, or where it would go. */
static inline int64_t *slot_of(int64_t *table, int64_t mask, int64_t low, int64_t high) {
    int64_t slot = low & mask;
    for (;; slot = (slot + 1) & mask) {
        int64_t *row = table + slot * COLUMNS;
        if (row[PLACE] == FREE || (row[LOW] == low && row[HIGH] == high))
            return row;
    }
}

static inline int is_higher(const int64_t *slot, int64_t time, int64_t rank, int64_t offset) {
    if (time != slot[TIME])
        return time > slot[TIME];
    return rank != slot[RANK] ? rank > slot[RANK] : offset > slot[OFFSET];
}

typedef struct {
    int64_t count;
    const int64_t *lows, *highs, *times, *ranks, *offsets;
} Versions;

/* The five arrays behind the table. */
static int are_versions(const Argument *a, Versions *versions) {
    *versions = (Versions){a[1].count, a[1].at, a[2].at, a[3].at, a[4].at, a[5].at};
    for (int place = 2; place < 6; place++)
        if (a[place].count < versions->count)
            return 0;
    return 1;
}

static inline void put(int64_t *slot, const Versions *v, int64_t row, int64_t place) {
    slot[LOW] = v->lows[row];
    slot[HIGH] = v->highs[row];
    slot[TIME] = v->times[row];
    slot[RANK] = v->ranks[row];
    slot[OFFSET] = v->offsets[row];
    slot[PLACE] = place;
}

PyObject *winner_meet(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "LllllllL"))
        return NULL;
    const Argument *a = taken.each;
    Versions v;
    if (!is_table(a) || !are_versions(a, &v) || a[6].count < v.count || a[7].count < v.count)
        return misfit(&taken, "meet");
    int64_t *table = a[0].at, mask = a[0].count / COLUMNS - 1, *winners = a[7].at, added = 0;
    const int64_t *places = a[6].at;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t row = 0; row < v.count; row++) {
        winners[row] = FREE;
        int64_t *slot = slot_of(table, mask, v.lows[row], v.highs[row]);
        if (slot[PLACE] == FREE) {
            added++;
        } else if (!is_higher(slot, v.times[row], v.ranks[row], v.offsets[row])) {
            if (slot[TIME] == v.times[row] && slot[RANK] == v.ranks[row] && slot[OFFSET] == v.offsets[row])
                slot[PLACE] = places[row]; /* The winner itself, once more: this is the last of it. */
            else
                winners[row] = slot[PLACE];
            continue;
        }
        put(slot, &v, row, places[row]);
    }
    Py_END_ALLOW_THREADS
    let_go(&taken);
    return PyLong_FromLongLong(added);
}

PyObject *winner_choose(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "LlllllB"))
        return NULL;
    const Argument *a = taken.each;
    Versions v;
    if (!is_table(a) || !are_versions(a, &v) || a[6].count < v.count)
        return misfit(&taken, "choose");
    int64_t *table = a[0].at, mask = a[0].count / COLUMNS - 1, added = 0;
    uint8_t *wanted = a[6].at;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t row = 0; row < v.count; row++) {
        if (!wanted[row])
            continue;
        int64_t *slot = slot_of(table, mask, v.lows[row], v.highs[row]);
        if (slot[PLACE] == FREE) {
            added++;
        } else if (!is_higher(slot, v.times[row], v.ranks[row], v.offsets[row])) {
            wanted[row] = 0;
            continue;
        }
        put(slot, &v, row, COMING);
    }
    Py_END_ALLOW_THREADS
    let_go(&taken);
    return PyLong_FromLongLong(added);
}

PyObject *winner_move(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "lL"))
        return NULL;
    const Argument *a = taken.each;
    if (!is_table(&a[0]) || !is_table(&a[1]) || a[1].count <= a[0].count)
        return misfit(&taken, "move");
    const int64_t *from = a[0].at, *end = from + a[0].count;
    int64_t *larger = a[1].at, mask = a[1].count / COLUMNS - 1;
    Py_BEGIN_ALLOW_THREADS
    for (; from < end; from += COLUMNS)
        if (from[PLACE] != FREE)
            memcpy(slot_of(larger, mask, from[LOW], from[HIGH]), from, COLUMNS * sizeof *from);
    Py_END_ALLOW_THREADS
    let_go(&taken);
    Py_RETURN_NONE;
}

PyObject *winner_rank_of(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "llbnLL"))
        return NULL;
    const Argument *a = taken.each;
    int64_t rows = a[0].count, own_rank = a[3].number, *ranks = a[4].at, *offsets = a[5].at;
    if (a[1].count < rows || a[4].count < rows || a[5].count < rows)
        return misfit(&taken, "rank_of");
    const int64_t *last_hops = a[1].at;
    Bytes data = a[2].at;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t row = 0; row < rows; row++) {
        if (last_hops[row] < 0) {
            ranks[row] = own_rank;
            continue;
        }
        Bytes hop = data + last_hops[row];
        int64_t size = *hop++;
        uint64_t rank = 0;
        for (int64_t byte = 0; byte < RANK_SIZE; byte++)
            rank = rank << 8 | (byte < size ? hop[byte] : 0);
        ranks[row] = (int64_t)rank;
        offsets[row] = (int64_t)big64(hop + size + HOP_OFFSET_AT);
    }
    Py_END_ALLOW_THREADS
    let_go(&taken);
    Py_RETURN_NONE;
}
