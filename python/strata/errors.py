"""The exceptions of strata, one for each class of errors of the library."""

from __future__ import annotations


class StrataError(Exception):
    """Every error of strata. Its text says what to do about it."""


class InputError(StrataError, ValueError):
    """An argument or a file that cannot be used."""


class NoDeviceError(StrataError):
    """There is no such device, or no usable driver."""


class BusyError(StrataError):
    """Another process of strata measures the device. ``wait`` gives it time."""


class FailedError(StrataError):
    """The run failed."""


class InterruptedRunError(StrataError):
    """The cause of a ``KeyboardInterrupt`` that ended a run; it says what became of the recording."""
