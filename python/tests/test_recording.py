"""Recordings and their samples."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import strata


def test_a_run_is_recorded_and_replayed(tmp_path: Path) -> None:
    file = tmp_path / "run.strata"
    found = strata.discover(device="sim:k20c", only=["constant_l1.size"], effort="quick", record=file)
    assert found.recorded == str(file)
    again = strata.replay(file)
    assert isinstance(again, strata.Topology)
    assert again.constant_l1.to_dict() == found.constant_l1.to_dict()
    assert strata.compare(found, file).same


def test_a_committed_recording_of_a_gpu(copies: Path) -> None:
    recording = strata.Recording(copies)
    assert recording.device.name == "NVIDIA H200" and recording.defects == []
    found = recording.replay(only=["async_copy"])
    assert isinstance(found, strata.Topology)
    assert any(finding.known for finding in found.async_copy.values())


def test_samples_are_numbers_and_arrays(copies: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.strata"
    size = strata.discover(device="sim:k20c", only=["constant_l1.size"], effort="quick", record=file).constant_l1.size
    experiments = strata.Recording(file).experiments
    chase = experiments.numbered(size.experiments[0])
    assert chase.kind == "chase" and chase.failure is None
    assert chase.samples is not None
    arrays = chase.samples.to_numpy()
    assert arrays["latencies"].dtype == numpy.uint32
    assert arrays["latencies"].tolist() == list(chase.samples.latencies)
    assert 20 < numpy.median(arrays["latencies"]) < 1000
    assert numpy.asarray(chase.samples.latencies).dtype == numpy.uint32

    lapped = next(one.samples for one in strata.Recording(copies).experiments if one.samples is not None and one.samples.laps)
    laps = lapped.to_numpy()["laps"]
    assert laps["loads"].tolist() == [lap[0] for lap in lapped.laps]
    assert (laps["cycles"] > laps["loads"]).all()

    assert experiments[-1].number == experiments[len(experiments) - 1].number
    assert [one.number for one in experiments[:2]] == [experiments[0].number, experiments[1].number]
    with pytest.raises(IndexError):
        experiments[len(experiments)]


def test_a_cut_recording_warns(copies: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.strata"
    whole = copies.read_bytes()
    cut.write_bytes(whole[: len(whole) * 3 // 4])
    recording = strata.Recording(cut)
    assert any("ends early" in defect for defect in recording.defects)
    with pytest.warns(RuntimeWarning, match="ends early"):
        recording.replay()


def test_the_example() -> None:
    assert strata.Recording.examples() == ["h200"]
    recording = strata.Recording.example()
    found = recording.replay(only=["shared"])
    assert isinstance(found, strata.Topology) and found.shared.size.known
    with pytest.raises(strata.InputError, match="no example"):
        strata.Recording.example("h2000")


def test_the_program_is_there() -> None:
    program = Path(sys.executable).parent / "strata"
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    assert version == f"strata {strata.__version__}\n"
    assert (Path(sys.prefix) / "share/man/man1/strata.1").exists()
