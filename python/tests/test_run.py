"""Runs: arguments, errors, progress, interruption."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import strata


def test_errors_have_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(strata.InputError, match="no attribute `sise` of l2"):
        strata.discover(device="sim:k20c", only=["l2.sise"])
    with pytest.raises(strata.InputError, match="no effort `much`"):
        strata.discover(device="sim:k20c", effort="much")
    with pytest.raises(ValueError, match="wait is -1"):
        strata.discover(device="sim:k20c", wait=-1)
    with pytest.raises(strata.InputError):
        strata.discover(device="sim:no-such-machine")
    with pytest.raises(strata.InputError):
        strata.replay(tmp_path / "no-such-file.strata")
    monkeypatch.setenv("STRATA_CUDA_LIBRARY", str(tmp_path / "no-driver.so"))
    with pytest.raises(strata.NoDeviceError):
        strata.discover()
    with pytest.raises(strata.NoDeviceError):
        strata.devices()


def test_machines_are_listed() -> None:
    assert "k20c" in strata.machines()


def test_a_run_tells_its_progress() -> None:
    steps: list[strata.Progress] = []
    strata.discover(device="sim:k20c", only=["constant_l1.size"], effort="quick", progress=steps.append)
    assert steps
    shares = [step.share for step in steps]
    assert shares == sorted(shares) and 0 <= shares[0] and shares[-1] <= 1
    assert all(step.title and step.done <= step.total for step in steps)


def test_an_exception_of_the_callback_ends_the_run() -> None:
    def refuse(step: strata.Progress) -> None:
        raise LookupError(step.title)

    begin = time.monotonic()
    with pytest.raises(LookupError) as raised:
        strata.discover(device="sim:k20c", progress=refuse)
    assert time.monotonic() - begin < 10
    assert isinstance(raised.value.__cause__, strata.InterruptedRunError)


def test_other_threads_work_during_a_run() -> None:
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.wait(0.005):
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        strata.discover(device="sim:k20c", only=["l2.size"], effort="quick")
    finally:
        done.set()
        thread.join()
    assert counted > 10


INTERRUPTED = """
import signal, sys, strata
# A program in the background of a shell inherits that interrupts are ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    strata.discover(device="sim:k20c", record=sys.argv[1], progress=lambda step: print("measuring", flush=True))
except KeyboardInterrupt as interrupt:
    print(type(interrupt.__cause__).__name__, interrupt.__cause__)
    sys.exit(7)
"""


def test_an_interrupt_ends_a_run_and_keeps_its_recording(tmp_path: Path) -> None:
    file = tmp_path / "run.strata"
    command = [sys.executable, "-c", INTERRUPTED, os.fspath(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "measuring\n"
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        output = process.stdout.read()
        assert process.wait(timeout=20) == 7
    assert time.monotonic() - begin < 10
    assert "InterruptedRunError" in output and "holds what had been measured" in output
    assert len(strata.Recording(file).experiments) > 0


def test_a_part_of_a_characterization() -> None:
    found = strata.characterize(device="sim:k20c", only=["locality"], effort="quick")
    assert list(found.parts) == ["locality"]
    locality = found.locality
    assert locality.question.endswith("?") and locality.meaning and locality.figures
    assert any(finding.known for finding in locality.values())
    with pytest.raises(AttributeError, match="did you mean `locality`"):
        found.lokality
    assert strata.load(found.to_dict()) == found
