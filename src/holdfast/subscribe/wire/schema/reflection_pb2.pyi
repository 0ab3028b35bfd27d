from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Asked(_message.Message):
    __slots__ = ("host", "file_by_filename", "file_containing_symbol", "list_services")
    HOST_FIELD_NUMBER: _ClassVar[int]
    FILE_BY_FILENAME_FIELD_NUMBER: _ClassVar[int]
    FILE_CONTAINING_SYMBOL_FIELD_NUMBER: _ClassVar[int]
    LIST_SERVICES_FIELD_NUMBER: _ClassVar[int]
    host: str
    file_by_filename: str
    file_containing_symbol: str
    list_services: str
    def __init__(self, host: _Optional[str] = ..., file_by_filename: _Optional[str] = ..., file_containing_symbol: _Optional[str] = ..., list_services: _Optional[str] = ...) -> None: ...

class Files(_message.Message):
    __slots__ = ("file_descriptor_proto",)
    FILE_DESCRIPTOR_PROTO_FIELD_NUMBER: _ClassVar[int]
    file_descriptor_proto: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, file_descriptor_proto: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Service(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class Services(_message.Message):
    __slots__ = ("service",)
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    service: _containers.RepeatedCompositeFieldContainer[Service]
    def __init__(self, service: _Optional[_Iterable[_Union[Service, _Mapping]]] = ...) -> None: ...

class Failed(_message.Message):
    __slots__ = ("error_code", "error_message")
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    error_code: int
    error_message: str
    def __init__(self, error_code: _Optional[int] = ..., error_message: _Optional[str] = ...) -> None: ...

class Answered(_message.Message):
    __slots__ = ("valid_host", "original_request", "file_descriptor_response", "list_services_response", "error_response")
    VALID_HOST_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_REQUEST_FIELD_NUMBER: _ClassVar[int]
    FILE_DESCRIPTOR_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    LIST_SERVICES_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    ERROR_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    valid_host: str
    original_request: Asked
    file_descriptor_response: Files
    list_services_response: Services
    error_response: Failed
    def __init__(self, valid_host: _Optional[str] = ..., original_request: _Optional[_Union[Asked, _Mapping]] = ..., file_descriptor_response: _Optional[_Union[Files, _Mapping]] = ..., list_services_response: _Optional[_Union[Services, _Mapping]] = ..., error_response: _Optional[_Union[Failed, _Mapping]] = ...) -> None: ...
