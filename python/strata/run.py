"""Runs: measure a device."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable
from typing import NamedTuple, Optional, Union

from . import _strata
from .result import Characterization, Topology


class Progress(NamedTuple):
    """Where a run is."""

    #: What is under way.
    title: str
    #: About how much of the run's time has passed, from 0 to 1.
    share: float
    #: Questions done.
    done: int
    #: Questions in all.
    total: int


class Device(NamedTuple):
    """A GPU that the driver offers."""

    #: Number in the driver's order: ``cuda:N``.
    ordinal: int
    #: Name, such as ``NVIDIA H200``.
    name: str
    #: UUID.
    uuid: Optional[str]
    #: PCI address.
    pci: Optional[str]
    #: Compute capability, major and minor.
    compute_capability: tuple[int, int]
    #: Device memory in bytes.
    total_memory: int


def discover(
    device: str = "auto",
    *,
    only: Iterable[str] = (),
    bandwidth: Optional[bool] = None,
    effort: str = "standard",
    seed: int = 1,
    record: Union[str, os.PathLike[str], None] = None,
    host_facts: bool = True,
    wait: float = 0.0,
    progress: Optional[Callable[[Progress], object]] = None,
) -> Topology:
    """Measures the memory topology of a device.

    :param device: ``auto`` (the first GPU), ``cuda:N``, a UUID, a PCI address, ``sim:NAME`` or ``sim:FILE.toml``.
    :param only: only these elements (``l2``) and attributes of elements (``l2.size``), and what they depend on.
    :param bandwidth: measure the bandwidth of the memories. By default a real GPU at standard effort or more does.
    :param effort: ``quick``, ``standard`` or ``thorough``.
    :param seed: fixes every random choice.
    :param record: the file or folder in which every sample is kept.
    :param host_facts: the result says on which host it was made.
    :param wait: seconds to wait for a GPU that is in use.
    :param progress: called before each batch of experiments. An exception that it raises ends the run.
    :raises InputError: for an argument that cannot be used.
    :raises NoDeviceError: if there is no such device, or no usable driver.
    :raises BusyError: if another process of strata measures the device.
    :raises FailedError: if the run fails.
    """
    arguments = (effort, seed, record, host_facts, wait, _told(progress))
    text, recorded = _strata.discover(device, list(only), bandwidth, *arguments)
    return Topology(json.loads(text), _kept(recorded))


def characterize(
    device: str = "auto",
    *,
    only: Iterable[str] = (),
    effort: str = "standard",
    seed: int = 1,
    record: Union[str, os.PathLike[str], None] = None,
    host_facts: bool = True,
    wait: float = 0.0,
    progress: Optional[Callable[[Progress], object]] = None,
) -> Characterization:
    """Measures what access patterns cost on a device: ``only`` these parts, or all. The rest is as for ``discover``."""
    arguments = (effort, seed, record, host_facts, wait, _told(progress))
    text, recorded = _strata.characterize(device, list(only), *arguments)
    return Characterization(json.loads(text), _kept(recorded))


def devices() -> list[Device]:
    """The GPUs that the driver offers.

    :raises NoDeviceError: without a usable driver.
    """
    listed = json.loads(_strata.devices())
    return [Device(**{**one, "compute_capability": tuple(one["compute_capability"])}) for one in listed]


def machines() -> list[str]:
    """The names of the simulated machines that come with strata; ``sim:NAME`` measures one."""
    return _strata.machines()


def _told(progress: Optional[Callable[[Progress], object]]) -> Optional[Callable[[str, float, int, int], object]]:
    if progress is None:
        return None
    return lambda *step: progress(Progress(*step))


def _kept(recorded: Optional[tuple[os.PathLike[str], Optional[str]]]) -> Optional[str]:
    """The path of the recording; warns if it is not complete."""
    if recorded is None:
        return None
    path, defect = recorded
    if defect is not None:
        warnings.warn(f"the recording `{os.fspath(path)}` is not complete: {defect}", RuntimeWarning, stacklevel=3)
    return os.fspath(path)
