"""Kafka's error codes, and which of our errors is which. They appear here and nowhere else."""

from __future__ import annotations

import enum

from holdfast.cluster.errors import TopicExists, TopicUnknown
from holdfast.errors import Corrupt, Fenced, HoldfastError, Rejected, Stopped, Unavailable
from holdfast.log import errors as log_errors
from holdfast.record import errors as record_errors


class Code(enum.IntEnum):
    """The codes we send."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    MESSAGE_TOO_LARGE = 10
    OFFSET_METADATA_TOO_LARGE = 12
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    TRANSACTION_COORDINATOR_FENCED = 52
    SECURITY_DISABLED = 54
    KAFKA_STORAGE_ERROR = 56
    UNKNOWN_PRODUCER_ID = 59
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    PRODUCER_FENCED = 90
    UNKNOWN_TOPIC_ID = 100
    INCONSISTENT_TOPIC_ID = 103
    FETCH_SESSION_TOPIC_ID_ERROR = 106


_CODES: list[tuple[type[Exception], Code]] = [  # The first that fits.
    (log_errors.OutOfRange, Code.OFFSET_OUT_OF_RANGE),
    (log_errors.PartitionDeleted, Code.UNKNOWN_TOPIC_OR_PARTITION),
    (log_errors.SequenceGap, Code.OUT_OF_ORDER_SEQUENCE_NUMBER),
    (log_errors.SequenceOld, Code.DUPLICATE_SEQUENCE_NUMBER),
    (log_errors.ProducerEpochOld, Code.INVALID_PRODUCER_EPOCH),
    (log_errors.TransactionMismatch, Code.INVALID_TXN_STATE),
    (log_errors.ColdReadFailed, Code.KAFKA_STORAGE_ERROR),
    (record_errors.TooLarge, Code.MESSAGE_TOO_LARGE),
    (record_errors.UnknownCodec, Code.UNSUPPORTED_COMPRESSION_TYPE),
    (record_errors.WrongMagic, Code.UNSUPPORTED_FOR_MESSAGE_FORMAT),
    (record_errors.WrongCrc, Code.CORRUPT_MESSAGE),
    (record_errors.Truncated, Code.CORRUPT_MESSAGE),
    (record_errors.WrongSize, Code.CORRUPT_MESSAGE),
    (record_errors.InvalidBatch, Code.INVALID_RECORD),
    (TopicUnknown, Code.UNKNOWN_TOPIC_OR_PARTITION),
    (TopicExists, Code.TOPIC_ALREADY_EXISTS),
    (Fenced, Code.NOT_LEADER_OR_FOLLOWER),
    (Stopped, Code.KAFKA_STORAGE_ERROR),
    (Unavailable, Code.KAFKA_STORAGE_ERROR),
    (Corrupt, Code.KAFKA_STORAGE_ERROR),
    (Rejected, Code.INVALID_REQUEST),
    (HoldfastError, Code.UNKNOWN_SERVER_ERROR),
]


def register(error: type[Exception], code: Code) -> None:
    """Let another package's error have a code of its own."""
    _CODES.insert(0, (error, code))


def code_of(failure: BaseException) -> Code:
    """The code that tells a client what to do about a failure. Never NONE."""
    for error, code in _CODES:
        if isinstance(failure, error):
            return code
    return Code.UNKNOWN_SERVER_ERROR
