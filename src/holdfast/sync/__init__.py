"""Sync: keeps the topics of two clusters equal, one way or both ways. The command is `holdfast sync`.

    origin                      where a record comes from, in one header: the format, columns of it, what is found by it
    carry                       one partition, batches on their way, the threads that carry them, and the last writer
    state                       how far a direction has come, and its one writer, both stored in the target
    sides, waiting              the two clusters, and waiting for one that is away at the start
    topics                      which topics, and making them at the target
    direction, goals, run       one way, when it is done, and both
    takeover, dry               how a direction begins, and what it would do
    groups                      offsets of consumer groups, translated
    progress                    what a run says of itself

The guide is `docs/guides/sync.md`.
"""
