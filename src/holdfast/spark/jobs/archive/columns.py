"""The columns that a table has, and those that a run would write: what the table takes up, and what is refused.

A new column is taken up, and rows from before have null in it; so is a wider type, since readers widen what old files
hold. A field that has another name now stays in its column, if its schema says so by `aliases`: no file is written
again. All else would leave some rows without their values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from holdfast.spark.jobs.archive.errors import OtherLayout

# In the words of Arrow, Delta and Iceberg.
WIDER: Final = {("int32", "int64"), ("integer", "long"), ("int", "long"), ("float", "double")}
_VALUE: Final = "value"
_ADVICE: Final = "give the --value-format and --value-schema that it was made with, or name another place"


def new_columns(url: str, there: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """The columns that a table does not have yet, or not as wide. Raises for what it cannot take up."""
    for name, kind in there.items():
        if name not in wanted:
            raise OtherLayout(url, f"has the column {name} ({kind}), which this run would not write", _ADVICE)
        if wanted[name] != kind and (kind, wanted[name]) not in WIDER:
            what = "which is narrower" if (wanted[name], kind) in WIDER else "which is another type"
            raise OtherLayout(
                url, f"has {kind} in the column {name}, where this run has {wanted[name]}, {what}", _ADVICE
            )
    if there and _VALUE not in there and wanted.get(_VALUE) == "binary":
        raise OtherLayout(
            url, "has rows without their values, which --keep-value cannot bring back", "name another place"
        )
    return [name for name, kind in wanted.items() if there.get(name) != kind]


def columns_of(schema: Any) -> dict[str, str]:
    """Names and types of an Arrow schema."""
    return {field.name: str(field.type) for field in schema}
