"""Values by their schemas: Avro and Protobuf, bare or behind the number of a schema, as registries write it.

Whoever may produce chooses the bytes, so every reader is bounded by their count, and raises for what does not fit.
"""
