"""The compiled part of the package. It takes and gives JSON and bytes."""

import os
from collections.abc import Callable
from typing import Optional, TypedDict, Union

__version__: str

_Path = Union[str, os.PathLike[str]]
_Progress = Optional[Callable[[str, float, int, int], object]]
_Found = tuple[str, Optional[tuple[os.PathLike[str], Optional[str]]]]

class Found(TypedDict):
    """Samples as bytes."""

    latencies: bytes
    laps: bytes
    clocks: bytes
    sms: bytes
    sm: int
    base: int

class Recording:
    @staticmethod
    def open(path: _Path) -> Recording: ...
    @staticmethod
    def example(name: str) -> Recording: ...
    @staticmethod
    def examples() -> list[str]: ...
    def device(self) -> str: ...
    def run_info(self) -> str: ...
    def defects(self) -> list[str]: ...
    def numbers(self) -> list[int]: ...
    def experiment(self, place: int) -> tuple[str, Optional[str], Optional[Found]]: ...
    def replay(self, only: list[str]) -> str: ...

class Compared:
    def same(self) -> bool: ...
    def json(self) -> str: ...
    def report(self, format: str, columns: int) -> str: ...

def compare(
    sides: list[tuple[str, Optional[str]]],
    only: list[str],
    required: list[str],
    tolerance: float,
    max_age: Optional[str],
) -> Compared: ...
def discover(
    device: str,
    only: list[str],
    bandwidth: Optional[bool],
    effort: str,
    seed: int,
    record: Optional[_Path],
    host_facts: bool,
    wait: float,
    progress: _Progress,
) -> _Found: ...
def characterize(
    device: str,
    only: list[str],
    effort: str,
    seed: int,
    record: Optional[_Path],
    host_facts: bool,
    wait: float,
    progress: _Progress,
) -> _Found: ...
def devices() -> str: ...
def machines() -> list[str]: ...
def names() -> list[str]: ...
def report(json: str, format: str, columns: int) -> str: ...
