"""Kafka batches as bytes: header view, crc32c, codecs, decoding to columns, building.

What the write path needs is `batch` alone: header, rules, stamping; it imports nothing heavy. `codec` compresses,
`decode` and `arrow` turn batches into columns, `build` turns records or columns into batches.
The layout, byte by byte, is in `docs/formats/batch.md`.
"""
