"""Groups, committed offsets and producer ids: state machines over internal topics.

`groups.GroupCoordinator` is the face; `group` is the rules of one group without any I/O; `records` is what is stored.
"""
