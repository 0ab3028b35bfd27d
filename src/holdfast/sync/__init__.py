"""Sync: keeps the topics of two clusters equal, one way or both ways. The command is `holdfast sync`.

    mark, mark_loops, marking   where a record comes from, in one header: the format, and columns of it
    committed                   what readers of committed records see of a fetch
    sides, waiting              the two clusters, and waiting for one that is away at the start
    topics                      which topics, and making them at the target
    fence                       one writer for each topic and direction
    checkpoint                  how far a direction has come, stored in the target
    scan, proof                 what the target holds already, and whether both sides are what they were
    lane, piece, worker         one partition, batches on their way, and the threads that carry them
    direction, goals, run       one way, when it is done, and both
    groups, place               offsets of consumer groups, translated
    winners, winner_loops       the last writer wins, on compacted topics
    progress                    what a run says of itself

The guide is `docs/guides/sync.md`.
"""
