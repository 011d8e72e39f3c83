"""Exceptions of CMIS, with their HTTP status in the Browser Binding (CMIS 1.1, section 5.2.10.1).

An operation of the repository raises only subclasses of `CmisError`, which `browser` converts to JSON.
"""

from __future__ import annotations


class StartError(Exception):
    """Raised if a command cannot run; the message is a line for the administrator."""


class CmisError(Exception):
    """Base class of all CMIS exceptions.

    Attributes
    ----------
    exception : str
        Name of the exception in the Browser Binding.
    status : int
        HTTP status.
    """

    exception = "runtime"
    status = 500

    @property
    def message(self) -> str:
        """Message for the client."""
        return str(self)


class InvalidArgument(CmisError):
    exception, status = "invalidArgument", 400


class FilterNotValid(CmisError):
    exception, status = "filterNotValid", 400


class NotAuthenticated(CmisError):
    exception, status = "permissionDenied", 401


class PermissionDenied(CmisError):
    exception, status = "permissionDenied", 403


class StreamNotSupported(CmisError):
    exception, status = "streamNotSupported", 403


class ObjectNotFound(CmisError):
    exception, status = "objectNotFound", 404


class NotSupported(CmisError):
    exception, status = "notSupported", 405


class Constraint(CmisError):
    exception, status = "constraint", 409


class NameConstraintViolation(CmisError):
    exception, status = "nameConstraintViolation", 409


class UpdateConflict(CmisError):
    exception, status = "updateConflict", 409


class Versioning(CmisError):
    exception, status = "versioning", 409


class ContentAlreadyExists(CmisError):
    exception, status = "contentAlreadyExists", 409


class RangeNotSatisfiable(CmisError):
    """Raised if a requested range is outside of the content; `length` is the length of the content. [bytes]"""

    exception, status = "invalidArgument", 416

    def __init__(self, message: str, length: int) -> None:
        super().__init__(message)
        self.length = length


class Storage(CmisError):
    exception, status = "storage", 500


class UniqueViolation(Exception):
    """Raised if the database refuses a row, because a row with the same key exists. Operations convert it to a CMIS
    exception.

    Attributes
    ----------
    name_taken : bool
        True if the folder already contains the name, or the path exists; False if the version or a working copy exists.
    """

    def __init__(self, name_taken: bool) -> None:
        super().__init__("unique key violated")
        self.name_taken = name_taken
