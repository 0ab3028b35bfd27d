/* `record.loops.lz4_loops`, which says what is read here and what is not. The interpreter's lock is kept. */
#include "arrays.h"
#include "loops.h"

enum {
    UNSURE = -1,
    BLOCK_SIZE_MAX = 64 << 10,
    HEADER_SIZE = 7,
    MATCH_MIN = 4,
    END_SIZE = 5,         /* The last bytes of a block are literals, */
    LAST_MATCH_SIZE = 12, /* and its last match begins this far from the end. */
    NARROW = 8,
    WIDE = 16,
    FURTHER = 15, /* In half a token: the number goes on in further bytes, */
    LAST = 255,   /* the last of which is less than this. */
};
#define TOO_MUCH ((int64_t)1 << 40) /* Larger than any block. */

static const uint8_t header[HEADER_SIZE] = {0x04, 0x22, 0x4D, 0x18, 0x60, 0x40, 0x82};

static int64_t read_further(int64_t number, Bytes *position, Bytes end) {
    while (*position < end) {
        uint8_t byte = *(*position)++;
        number += byte;
        if (byte < LAST)
            return number;
    }
    return TOO_MUCH;
}

/* Read whole before it is written: both may lie near each other. */
static inline void copy_8(uint8_t *target, Bytes source) {
    uint64_t word;
    memcpy(&word, source, 8);
    memcpy(target, &word, 8);
}
static inline void copy_16(uint8_t *target, Bytes source) {
    uint64_t words[2];
    memcpy(words, source, 16);
    memcpy(target, words, 16);
}

/* Copy what was written so far back. What is copied may itself be written only by this. */
static inline void repeat(uint8_t *target, int64_t distance, int64_t length, Bytes target_end) {
    uint8_t *end = target + length;
    if (target_end - target < length + WIDE || distance < NARROW) {
        for (; target < end; target++)
            *target = *(target - distance);
    } else if (distance >= WIDE) {
        for (; target < end; target += WIDE)
            copy_16(target, target - distance);
    } else {
        for (; target < end; target += NARROW)
            copy_8(target, target - distance);
    }
}

static int64_t expand_block(Bytes position, int64_t size, uint8_t *const start, int64_t room) {
    Bytes end = position + size, target_end = start + room;
    uint8_t *target = start;
    int64_t last_match = -LAST_MATCH_SIZE; /* Counted from the start; none yet. */
    while (position < end) {
        uint8_t token = *position++;
        int64_t literals = token >> 4;
        if (literals == FURTHER)
            literals = read_further(literals, &position, end);
        if (literals > end - position || literals > target_end - target)
            return UNSURE;
        if (end - position >= literals + WIDE && target_end - target >= literals + WIDE) {
            copy_16(target, position); /* What is copied too much is overwritten. */
            for (int64_t done = WIDE; done < literals; done += WIDE)
                copy_16(target + done, position + done);
        } else {
            memcpy(target, position, (size_t)literals);
        }
        target += literals;
        position += literals;
        int64_t written = target - start;
        if (position == end) /* The only way out. */
            return written - last_match >= LAST_MATCH_SIZE && (last_match < 0 || literals >= END_SIZE) ? written : UNSURE;
        if (end - position < 2)
            return UNSURE;
        int64_t distance = position[0] | position[1] << 8;
        position += 2;
        if (distance == 0 || distance > written)
            return UNSURE;
        int64_t length = token & FURTHER;
        if (length == FURTHER)
            length = read_further(length, &position, end);
        length += MATCH_MIN;
        if (length > target_end - target)
            return UNSURE;
        last_match = written;
        repeat(target, distance, length, target_end);
        target += length;
    }
    return UNSURE;
}

static int64_t expand_frame(Bytes position, int64_t size, uint8_t *target, int64_t room) {
    if (size < HEADER_SIZE || memcmp(position, header, HEADER_SIZE) != 0)
        return UNSURE;
    Bytes end = position + size;
    position += HEADER_SIZE;
    int64_t written = 0;
    while (end - position >= 4) {
        int64_t packed = position[0] | position[1] << 8 | position[2] << 16;
        uint8_t kind = position[3]; /* 128: stored as it is. Nothing else belongs here: blocks are smaller. */
        position += 4;
        if (packed == 0 && kind == 0)
            return position == end ? written : UNSURE;
        if (packed > end - position || (kind != 0 && kind != 128))
            return UNSURE;
        int64_t left = room - written;
        if (kind == 0) {
            int64_t expanded = expand_block(position, packed, target + written, left < BLOCK_SIZE_MAX ? left : BLOCK_SIZE_MAX);
            if (expanded < 0)
                return UNSURE;
            written += expanded;
        } else {
            if (packed > BLOCK_SIZE_MAX || packed > left)
                return UNSURE;
            memcpy(target + written, position, (size_t)packed);
            written += packed;
        }
        position += packed;
    }
    return UNSURE;
}

PyObject *lz4_expand_frame(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Arguments taken;
    if (!take(&taken, given, count, "nnnn"))
        return NULL;
    const Argument *a = taken.each;
    return PyLong_FromLongLong(expand_frame((Bytes)(uintptr_t)a[0].number, a[1].number,
                                            (uint8_t *)(uintptr_t)a[2].number, a[3].number));
}
