"""Recordings: every experiment of a run with its samples."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union, overload

from . import _strata
from .result import Characterization, Facts, Topology, _of

if TYPE_CHECKING:
    import numpy


class Samples:
    """The samples of one experiment. Which of the lists is filled follows from its kind.

    The lists are views of numbers that work without numpy. ``to_numpy`` makes arrays of them.
    """

    #: Cycles of each timed load, overhead included.
    latencies: Sequence[int]
    #: Laps: the number of loads, and the cycles of all of them together.
    laps: list[tuple[int, int]]
    #: Clock readings: cycles of the SM's clock, and nanoseconds of the global timer.
    clocks: list[tuple[int, int]]
    #: The SM of each block, where that was the question.
    sms: Sequence[int]
    #: The SM that ran it.
    sm: int
    #: Device address of the first byte; 0 for memory that has none.
    base: int

    def __init__(self, found: _strata.Found) -> None:
        self._found = found
        self.latencies = memoryview(found["latencies"]).cast("I")
        self.laps = _pairs(found["laps"])
        self.clocks = _pairs(found["clocks"])
        self.sms = memoryview(found["sms"]).cast("I")
        self.sm = found["sm"]
        self.base = found["base"]

    def to_numpy(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """The lists as arrays: ``latencies``, ``sms``, and with named columns ``laps`` and ``clocks``. Needs numpy."""
        import numpy

        laps = numpy.dtype([("loads", "u8"), ("cycles", "u8")])
        clocks = numpy.dtype([("cycles", "u8"), ("nanoseconds", "u8")])
        return {
            "latencies": numpy.frombuffer(self._found["latencies"], dtype=numpy.uint32),
            "laps": numpy.frombuffer(self._found["laps"], dtype=laps),
            "clocks": numpy.frombuffer(self._found["clocks"], dtype=clocks),
            "sms": numpy.frombuffer(self._found["sms"], dtype=numpy.uint32),
        }

    def __repr__(self) -> str:
        lists = {"latencies": self.latencies, "laps": self.laps, "clocks": self.clocks, "sms": self.sms}
        return f"<Samples: {', '.join(f'{len(numbers)} {name}' for name, numbers in lists.items() if len(numbers))}>"


def _pairs(data: bytes) -> list[tuple[int, int]]:
    numbers = memoryview(data).cast("Q")
    return list(zip(numbers[::2], numbers[1::2]))


class Experiment:
    """One experiment of a recording."""

    #: Its number, to which findings refer.
    number: int
    #: What was asked: ``asked["kind"]`` and the fields of that kind.
    asked: dict[str, Any]
    #: Its samples; ``None`` if there are none.
    samples: Optional[Samples]
    #: Why there are no samples.
    failure: Optional[str]

    def __init__(self, number: int, asked: str, failure: Optional[str], found: Optional[_strata.Found]) -> None:
        self.number = number
        self.asked = json.loads(asked)
        self.failure = failure
        self.samples = None if found is None else Samples(found)

    @property
    def kind(self) -> str:
        """The kind, such as ``chase``."""
        return str(self.asked["kind"])

    def __repr__(self) -> str:
        return f"<Experiment {self.number}, {self.kind}: {self.failure or self.samples}>"


class Experiments(Sequence[Experiment]):
    """The experiments of a recording, in the order in which they were made. Each is read when it is asked for."""

    def __init__(self, recording: _strata.Recording) -> None:
        self._recording = recording
        self._numbers = recording.numbers()
        self._places = {number: place for place, number in enumerate(self._numbers)}

    def numbered(self, number: int) -> Experiment:
        """The experiment with a number, as ``Finding.experiments`` has it."""
        return self[self._places[number]]

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> Experiment: ...

    @overload
    def __getitem__(self, place: slice) -> list[Experiment]: ...

    def __getitem__(self, place: Union[int, slice]) -> Union[Experiment, list[Experiment]]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        # Raises IndexError where there is none, and counts from the end.
        number = self._numbers[place]
        return Experiment(number, *self._recording.experiment(self._places[number]))

    def __iter__(self) -> Iterator[Experiment]:
        return (self[place] for place in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} experiments>"


class Recording:
    """A recording that was read. It needs no GPU to give its result again."""

    #: What the driver said of the device.
    device: Facts
    #: How the run was made.
    run: Facts
    #: What is missing of what was written, if it was cut short or is damaged.
    defects: list[str]
    #: The experiments.
    experiments: Experiments

    def __init__(self, path: Union[str, os.PathLike[str]]) -> None:
        self._set(os.fspath(path), _strata.Recording.open(path))

    def _set(self, name: str, recording: _strata.Recording) -> None:
        self._name = name
        self._recording = recording
        self.device = Facts("device", json.loads(recording.device()))
        self.run = Facts("run", json.loads(recording.run_info()))
        self.defects = recording.defects()
        self.experiments = Experiments(recording)

    @classmethod
    def example(cls, name: str = "h200") -> Recording:
        """A recording of a real GPU that comes with strata."""
        recording = cls.__new__(cls)
        recording._set(f"example {name}", _strata.Recording.example(name))
        return recording

    @staticmethod
    def examples() -> list[str]:
        """The names of the recordings that come with strata."""
        return _strata.Recording.examples()

    def replay(self, *, only: Iterable[str] = ()) -> Union[Topology, Characterization]:
        """Infers the result from the samples: of ``only`` these elements, attributes or parts, or of all that was measured.

        Warns of what is missing of a recording that was cut short or is damaged.
        """
        for defect in self.defects:
            warnings.warn(f"`{self._name}`: {defect}", RuntimeWarning, stacklevel=2)
        return _of(json.loads(self._recording.replay(list(only))))

    def __repr__(self) -> str:
        return f"<Recording `{self._name}` of {self.device.get('name')}: {len(self.experiments)} experiments>"


def replay(path: Union[str, os.PathLike[str]], *, only: Iterable[str] = ()) -> Union[Topology, Characterization]:
    """The result of a recording, as ``Recording(path).replay(only=only)``."""
    return Recording(path).replay(only=only)
