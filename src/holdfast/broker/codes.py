"""Which of our errors is which of Kafka's codes."""

from __future__ import annotations

from holdfast.broker.configs.topic import ConfigInvalid
from holdfast.broker.guard.rights import NotAllowed
from holdfast.broker.share import sessions as share_sessions
from holdfast.broker.throttle import QuotaExceeded
from holdfast.broker.topic_limits import MetadataFull, PartitionCountInvalid, TopicNameCollides, TopicNameInvalid
from holdfast.cluster.errors import BadUser, TooManyRules, TooManyUsers, TopicExists, TopicUnknown, UserUnknown
from holdfast.coordinator.group import errors as group_errors
from holdfast.coordinator.group.consumer import errors as consumer_group_errors
from holdfast.coordinator.runtime import errors as runtime_errors
from holdfast.coordinator.share import errors as share_errors
from holdfast.coordinator.transaction import errors as transaction_errors
from holdfast.errors import Corrupt, Fenced, HoldfastError, Rejected, Stopped, Unavailable
from holdfast.io.store_errors import NewerFormat
from holdfast.log import errors as log_errors
from holdfast.protocol.codes import Code
from holdfast.record import errors as record_errors
from holdfast.security.rules import ResourceType

_CODES: list[tuple[type[Exception], Code]] = [  # The first that fits.
    (log_errors.OutOfRange, Code.OFFSET_OUT_OF_RANGE),
    (log_errors.PartitionDeleted, Code.UNKNOWN_TOPIC_OR_PARTITION),
    (log_errors.SequenceGap, Code.OUT_OF_ORDER_SEQUENCE_NUMBER),
    (log_errors.ProducerEpochOld, Code.INVALID_PRODUCER_EPOCH),
    (log_errors.TransactionMismatch, Code.INVALID_TXN_STATE),
    (log_errors.ColdReadFailed, Code.KAFKA_STORAGE_ERROR),
    (NewerFormat, Code.KAFKA_STORAGE_ERROR),
    (record_errors.TooLarge, Code.MESSAGE_TOO_LARGE),
    (record_errors.UnknownCodec, Code.UNSUPPORTED_COMPRESSION_TYPE),
    (record_errors.WrongMagic, Code.UNSUPPORTED_FOR_MESSAGE_FORMAT),
    (record_errors.WrongCrc, Code.CORRUPT_MESSAGE),
    (record_errors.Truncated, Code.CORRUPT_MESSAGE),
    (record_errors.WrongSize, Code.CORRUPT_MESSAGE),
    (record_errors.TimestampOutOfRange, Code.INVALID_TIMESTAMP),
    (record_errors.InvalidBatch, Code.INVALID_RECORD),
    (TopicUnknown, Code.UNKNOWN_TOPIC_OR_PARTITION),
    (TopicExists, Code.TOPIC_ALREADY_EXISTS),
    (TopicNameInvalid, Code.INVALID_TOPIC_EXCEPTION),
    (TopicNameCollides, Code.INVALID_TOPIC_EXCEPTION),
    (PartitionCountInvalid, Code.INVALID_PARTITIONS),
    (UserUnknown, Code.RESOURCE_NOT_FOUND),
    (BadUser, Code.UNACCEPTABLE_CREDENTIAL),
    (TooManyUsers, Code.POLICY_VIOLATION),
    (TooManyRules, Code.POLICY_VIOLATION),
    (MetadataFull, Code.POLICY_VIOLATION),
    (log_errors.TooManyPartitions, Code.INVALID_PARTITIONS),
    (ConfigInvalid, Code.INVALID_CONFIG),
    (QuotaExceeded, Code.THROTTLING_QUOTA_EXCEEDED),
    (share_errors.InvalidRecordState, Code.INVALID_RECORD_STATE),
    (share_errors.TooManySharePartitions, Code.COORDINATOR_NOT_AVAILABLE),
    (share_errors.ShareStateOld, Code.FENCED_STATE_EPOCH),
    (share_errors.ShareStateAway, Code.COORDINATOR_NOT_AVAILABLE),
    (share_sessions.ShareSessionUnknown, Code.SHARE_SESSION_NOT_FOUND),
    (share_sessions.ShareSessionEpochWrong, Code.INVALID_SHARE_SESSION_EPOCH),
    (share_sessions.TooManyShareSessions, Code.SHARE_SESSION_LIMIT_REACHED),
    (group_errors.InvalidGroupId, Code.INVALID_GROUP_ID),
    (group_errors.GroupNotFound, Code.GROUP_ID_NOT_FOUND),
    (group_errors.GroupNotEmpty, Code.NON_EMPTY_GROUP),
    (group_errors.GroupFull, Code.GROUP_MAX_SIZE_REACHED),
    (group_errors.MemberIdRequired, Code.MEMBER_ID_REQUIRED),
    (group_errors.UnknownMember, Code.UNKNOWN_MEMBER_ID),
    (group_errors.InstanceFenced, Code.FENCED_INSTANCE_ID),
    (group_errors.WrongGeneration, Code.ILLEGAL_GENERATION),
    (group_errors.ProtocolMismatch, Code.INCONSISTENT_GROUP_PROTOCOL),
    (group_errors.SessionTimeoutOutOfRange, Code.INVALID_SESSION_TIMEOUT),
    (group_errors.AssignmentTooLarge, Code.MESSAGE_TOO_LARGE),
    (group_errors.TopicSubscribed, Code.GROUP_SUBSCRIBED_TO_TOPIC),
    (consumer_group_errors.FencedMemberEpoch, Code.FENCED_MEMBER_EPOCH),
    (consumer_group_errors.StaleMemberEpoch, Code.STALE_MEMBER_EPOCH),
    (consumer_group_errors.UnreleasedInstance, Code.UNRELEASED_INSTANCE_ID),
    (consumer_group_errors.UnsupportedAssignor, Code.UNSUPPORTED_ASSIGNOR),
    (consumer_group_errors.InvalidPattern, Code.INVALID_REGULAR_EXPRESSION),
    (consumer_group_errors.GroupUnsettled, Code.COORDINATOR_LOAD_IN_PROGRESS),  # What clients know to wait for.
    (group_errors.OffsetMetadataTooLarge, Code.OFFSET_METADATA_TOO_LARGE),
    (group_errors.OffsetsFull, Code.INVALID_COMMIT_OFFSET_SIZE),
    (group_errors.RebalanceInProgress, Code.REBALANCE_IN_PROGRESS),
    (group_errors.OffsetUndecided, Code.UNSTABLE_OFFSET_COMMIT),
    (runtime_errors.CoordinatorLoading, Code.COORDINATOR_LOAD_IN_PROGRESS),
    (runtime_errors.NotCoordinator, Code.NOT_COORDINATOR),
    (group_errors.TooManyGroups, Code.COORDINATOR_NOT_AVAILABLE),
    (runtime_errors.CoordinatorStopped, Code.COORDINATOR_NOT_AVAILABLE),
    (runtime_errors.CoordinatorQuarantined, Code.COORDINATOR_NOT_AVAILABLE),
    (transaction_errors.TransactionalIdUnknown, Code.TRANSACTIONAL_ID_NOT_FOUND),
    (transaction_errors.TransactionTimeoutInvalid, Code.INVALID_TRANSACTION_TIMEOUT),
    (transaction_errors.ProducerIdMismatch, Code.INVALID_PRODUCER_ID_MAPPING),
    (transaction_errors.ProducerFenced, Code.PRODUCER_FENCED),
    (transaction_errors.NotInTransaction, Code.TRANSACTION_ABORTABLE),
    (transaction_errors.TransactionStateInvalid, Code.INVALID_TXN_STATE),
    (transaction_errors.TransactionEnding, Code.CONCURRENT_TRANSACTIONS),
    (transaction_errors.TooManyTransactionalIds, Code.COORDINATOR_NOT_AVAILABLE),
    (Fenced, Code.NOT_LEADER_OR_FOLLOWER),
    (Stopped, Code.KAFKA_STORAGE_ERROR),
    (Unavailable, Code.KAFKA_STORAGE_ERROR),
    (Corrupt, Code.KAFKA_STORAGE_ERROR),
    (Rejected, Code.INVALID_REQUEST),
    (HoldfastError, Code.UNKNOWN_SERVER_ERROR),
]


_REFUSALS = {
    ResourceType.TOPIC: Code.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: Code.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: Code.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}


def code_of(failure: BaseException) -> Code:
    """The code that tells a client what to do about a failure. Never NONE."""
    if isinstance(failure, NotAllowed):
        return _REFUSALS[failure.kind]
    for error, code in _CODES:
        if isinstance(failure, error):
            return code
    return Code.UNKNOWN_SERVER_ERROR


def group_code_of(failure: BaseException) -> Code:
    """The same for requests to a group's coordinator: of its storage clients know nothing, of its absence they do."""
    code = code_of(failure)
    lost = code in (Code.KAFKA_STORAGE_ERROR, Code.NOT_LEADER_OR_FOLLOWER)
    return Code.COORDINATOR_NOT_AVAILABLE if lost else code


def transaction_code_of(failure: BaseException, *, knows_fenced: bool = True, knows_abortable: bool = True) -> Code:
    """The same for requests about transactions; older clients know fewer codes, and get those that say the same."""
    code = group_code_of(failure)
    if code == Code.PRODUCER_FENCED and not knows_fenced:
        return Code.INVALID_PRODUCER_EPOCH
    if code == Code.TRANSACTION_ABORTABLE and not knows_abortable:
        return Code.INVALID_TXN_STATE
    return code
