"""Pipelines that run over stored segments: archive, merge, compact, audit.

Each is a function of a Spark session: the driver plans tasks and commits, executors read, decode, check and write
inside their own Python, and only summaries travel. The commands are in `holdfast.cli`; the guide is
`docs/guides/pipelines.md`.
"""
