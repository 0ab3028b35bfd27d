/* Numbers as they stand in batches and frames, and bounds of what is read. */
#ifndef HOLDFAST_NUMBERS_H
#define HOLDFAST_NUMBERS_H

#include <stdint.h>
#include <string.h>

typedef const uint8_t *Bytes;

static inline uint16_t big16(Bytes at) { return (uint16_t)(at[0] << 8 | at[1]); }
static inline uint32_t big32(Bytes at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}
static inline uint64_t big64(Bytes at) { return (uint64_t)big32(at) << 32 | big32(at + 4); }

static inline void put_big32(uint8_t *at, uint32_t number) {
    for (int byte = 0; byte < 4; byte++)
        at[byte] = (uint8_t)(number >> (24 - 8 * byte));
}
static inline void put_big64(uint8_t *at, uint64_t number) {
    put_big32(at, (uint32_t)(number >> 32));
    put_big32(at + 4, (uint32_t)number);
}

/* A zigzag varint and what comes after it; NULL when it breaks off before `end`, or has more than ten bytes. */
static inline Bytes read_number(Bytes at, Bytes end, int64_t *number) {
    uint64_t raw = 0;
    for (int index = 0; index < 10 && at + index < end; index++) {
        uint8_t byte = at[index];
        raw |= (uint64_t)(byte & 0x7F) << (7 * index);
        if (byte < 0x80) {
            *number = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
            return at + index + 1;
        }
    }
    return NULL;
}

/* The same of what clients read as 32 bits: at most five bytes. */
static inline Bytes read_int(Bytes at, Bytes end, int64_t *number) {
    if (at < end && *at < 0x80) {
        *number = (*at >> 1) ^ -(*at & 1);
        return at + 1;
    }
    Bytes after = read_number(at, end, number);
    return after != NULL && after - at <= 5 ? after : NULL;
}

#endif
