#include "crc32c.h"

#include <string.h>

#define POLYNOMIAL 0x82F63B78u
#define LANE 1024 /* Bytes of each of three lanes: the processor sums them up at the same time. */

static uint32_t table[256];
static uint32_t shifted[2][4][256]; /* The effect of LANE and of two LANE zero bytes on each byte of a sum. */
static int is_quick;

static uint32_t slowly(const uint8_t *data, size_t size, uint32_t sum) {
    while (size--)
        sum = table[(sum ^ *data++) & 0xFF] ^ sum >> 8;
    return sum;
}

void crc32c_prepare(void) {
    static const uint8_t zeros[2 * LANE];
    for (uint32_t number = 0; number < 256; number++) {
        uint32_t sum = number;
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? POLYNOMIAL : 0);
        table[number] = sum;
    }
    for (int lanes = 0; lanes < 2; lanes++) {
        uint32_t of_bit[32];
        for (int bit = 0; bit < 32; bit++)
            of_bit[bit] = slowly(zeros, (size_t)(lanes + 1) * LANE, 1u << bit);
        for (int byte = 0; byte < 4; byte++)
            for (uint32_t number = 0; number < 256; number++) {
                uint32_t sum = 0;
                for (int bit = 0; bit < 8; bit++)
                    sum ^= number >> bit & 1 ? of_bit[8 * byte + bit] : 0;
                shifted[lanes][byte][number] = sum;
            }
    }
#if defined(__x86_64__)
    __builtin_cpu_init();
    is_quick = __builtin_cpu_supports("sse4.2");
#elif defined(__ARM_FEATURE_CRC32)
    is_quick = 1;
#endif
}

#if defined(__x86_64__)
#include <nmmintrin.h>
#define QUICK __attribute__((target("sse4.2")))
#define STEP_8(sum, word) ((uint32_t)_mm_crc32_u64(sum, word))
#define STEP_1(sum, byte) _mm_crc32_u8(sum, byte)
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#define QUICK
#define STEP_8(sum, word) __crc32cd(sum, word)
#define STEP_1(sum, byte) __crc32cb(sum, byte)
#endif

#ifdef QUICK
static uint64_t word_at(const uint8_t *data) {
    uint64_t word;
    memcpy(&word, data, 8);
    return word;
}

static uint32_t moved(int lanes, uint32_t sum) {
    uint32_t(*by)[256] = shifted[lanes - 1];
    return by[0][sum & 0xFF] ^ by[1][sum >> 8 & 0xFF] ^ by[2][sum >> 16 & 0xFF] ^ by[3][sum >> 24];
}

QUICK static uint32_t quickly(const uint8_t *data, size_t size, uint32_t sum) {
    while (size >= 3 * LANE) {
        uint32_t second = 0, third = 0;
        for (size_t at = 0; at < LANE; at += 8) {
            sum = STEP_8(sum, word_at(data + at));
            second = STEP_8(second, word_at(data + LANE + at));
            third = STEP_8(third, word_at(data + 2 * LANE + at));
        }
        sum = moved(2, sum) ^ moved(1, second) ^ third;
        data += 3 * LANE;
        size -= 3 * LANE;
    }
    for (; size >= 8; size -= 8, data += 8)
        sum = STEP_8(sum, word_at(data));
    while (size--)
        sum = STEP_1(sum, *data++);
    return sum;
}
#endif

uint32_t crc32c_of(const uint8_t *data, size_t size, uint32_t before) {
#ifdef QUICK
    if (is_quick)
        return ~quickly(data, size, ~before);
#endif
    return ~slowly(data, size, ~before);
}
