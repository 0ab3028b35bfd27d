"""Sealed segments of one partition, the manifest that lists them, and the cache they are read through.

`writer` and `reader` turn batches into one object and back; `manifest` is the list of a partition's segments as a
value, `changes` what can happen to it, `manifest_log` its versions in the store, taken by the rule in
`holdfast.io.versions`; `blocks` and `read` serve cold reads; `compact` and `merge` rewrite segments, `garbage` removes
leftovers.
The layouts, byte by byte, are in `docs/formats/segment.md` and `docs/formats/manifest.md`.
"""
