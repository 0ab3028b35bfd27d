"""The only door to disk, object store, clock and randomness.

Everything that can differ between two runs comes through here, so that a test can own it:
`disk` (a directory of files), `objects` (an object store with put-if-absent), `clock`, `chance`;
`simdisk` is a disk that crashes, tears, fails and fills up on demand.
"""
