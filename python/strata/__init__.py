"""Measures the memory hierarchy of a GPU. Every number has an interval and a source.

Discover a GPU, here a simulated one, and read what was found::

    import strata

    t = strata.discover(device="sim:k20c", only=["l2.size"], effort="quick")
    t.l2.size.value, t.l2.size.low, t.l2.size.high, t.l2.size.unit

What cannot be measured is no error: its ``value`` is ``None``, and ``reason`` says why.

A run lets other threads work. Ctrl-C ends it with ``KeyboardInterrupt``; a recording that was asked for holds what had been
measured by then.
"""

from __future__ import annotations

from ._strata import __version__
from .errors import BusyError, FailedError, InputError, InterruptedRunError, NoDeviceError, StrataError
from .finding import Finding
from .recording import Experiment, Recording, Samples, replay
from .result import Characterization, Element, Facts, Part, Result, Topology, load
from .comparison import Comparison, compare
from .run import Device, Progress, characterize, devices, discover, machines

__all__ = [
    "BusyError",
    "Characterization",
    "Comparison",
    "Device",
    "Element",
    "Experiment",
    "Facts",
    "FailedError",
    "Finding",
    "InputError",
    "InterruptedRunError",
    "NoDeviceError",
    "Part",
    "Progress",
    "Recording",
    "Result",
    "Samples",
    "StrataError",
    "Topology",
    "__version__",
    "characterize",
    "compare",
    "devices",
    "discover",
    "load",
    "machines",
    "replay",
]
