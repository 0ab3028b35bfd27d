/* crc32c, by the processor where it can. */
#ifndef HOLDFAST_CRC32C_H
#define HOLDFAST_CRC32C_H

#include <stddef.h>
#include <stdint.h>

void crc32c_prepare(void);                                               /* Once, before the first call. */
uint32_t crc32c_of(const uint8_t *data, size_t size, uint32_t before);   /* `before`: the crc of what came before. */

#endif
