"""Kafka batches as bytes: header view, crc32c, codecs, decoding to columns, building.

What the write path needs is `batch` alone: header, rules, stamping; it imports nothing heavy. `codec` compresses,
`columnar` turns batches into columns and back, `build` turns records into batches, and `loops` are what is compiled.
The layout, byte by byte, is in `docs/formats/batch.md`.
"""
