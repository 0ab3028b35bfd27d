"""The schema of rows: exactly that of Spark's own Kafka source, or a narrower one that a user gives."""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from holdfast.catalog.rows import check_columns
from holdfast.errors import Rejected

_HEADER: Final = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_TYPES: Final[dict[str, DataType]] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    "headers": ArrayType(_HEADER),
}


def full_schema(*, include_headers: bool) -> StructType:
    """All columns."""
    names = [name for name in _TYPES if include_headers or name != "headers"]
    return StructType([StructField(name, _TYPES[name]) for name in names])


def check_schema(schema: StructType) -> None:
    """Raise unless rows can be read with this schema: some of the columns, in any order, with their own types."""
    check_columns(schema.fieldNames())
    for each in schema.fields:
        if each.dataType != _TYPES[each.name]:
            has, given = _TYPES[each.name].simpleString(), each.dataType.simpleString()
            raise Rejected(f"column {each.name} is {has}, not {given}: read it as it is, then cast it")
