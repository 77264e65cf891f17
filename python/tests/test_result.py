"""Results and their names."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import pytest

import strata


def test_a_value_has_its_interval_unit_and_source(topology: strata.Topology) -> None:
    size = topology.constant_l1.size
    assert (size.value, size.unit, size.source) == (2048, "B", "measured")
    assert size.low is not None and size.high is not None
    assert size.low <= 2048 <= size.high
    assert size.known and size.reason is None and size.experiments
    assert repr(size) == "<constant_l1.size: 2048 B [2048 to 2048], measured>"


def test_a_latency_is_in_cycles_and_nanoseconds(topology: strata.Topology) -> None:
    latency = topology.constant_l1.latency
    assert latency.cycles.unit == "cycles" and latency.ns.unit == "ns"
    assert latency.value == latency.cycles.value
    assert latency.cycles.value > latency.ns.value * 0.5


def test_an_unknown_value_has_a_reason(topology: strata.Topology) -> None:
    sets = topology.l2.sets
    if sets.known:
        pytest.fail("take another attribute: the sets of this L2 are known now")
    assert sets.value is None and sets.source is None
    assert sets.reason


def test_keys_and_attributes_are_the_same(topology: strata.Topology) -> None:
    assert topology.l2["size"] is topology.l2.size
    assert topology.elements["l2"] is topology.l2
    assert set(topology.l2) == {"size", "sets"}
    assert topology.device.name == topology.device["name"]
    assert topology.run.simulated is True


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        ("t.l3", "no element `l3`; there are constant_l1, l2, l1, "),
        ("t.texure", "no element `texure`; did you mean `texture`"),
        ("t.l2.sise", "l2 has no `sise`; did you mean `size`"),
        ("t.l2.line_size", "`l2.line_size` is not in this result, which has size, sets; measure it"),
        ("t.dram", "`dram` is not in this result, which has constant_l1, l2; measure it"),
        ("t.to_dikt", "did you mean `to_dict`"),
        ("t.l2.size.valeu", "l2.size has no `valeu`; did you mean `value`"),
        ("t.device.nmae", "device has no `nmae`; did you mean `name`"),
    ],
)
def test_a_misspelt_name_names_its_neighbours(topology: strata.Topology, ask: str, answer: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(answer)):
        eval(ask, {"t": topology})


def test_a_result_is_its_document(topology: strata.Topology, tmp_path: Path) -> None:
    document = topology.to_dict()
    assert document["schema"] == "strata/topology/1"
    assert document["elements"]["l2"]["size"] == topology.l2.size.to_dict()
    file = tmp_path / "result.json"
    file.write_text(topology.to_json())
    assert strata.load(file) == topology
    assert strata.load(json.loads(topology.to_json())) == topology
    assert pickle.loads(pickle.dumps(topology)) == topology


def test_no_result_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    for text in ["", "[]", '{"schema": "other"}']:
        file.write_text(text)
        with pytest.raises(strata.InputError):
            strata.load(file)


def test_a_result_has_reports(topology: strata.Topology) -> None:
    text = topology.report()
    assert "2 KiB" in text
    assert max(map(len, topology.report(columns=60).splitlines())) <= 60
    assert topology.report("html").startswith("<!doctype html>")
    assert topology.report("hwloc").startswith("<?xml")
    with pytest.raises(strata.InputError, match="no format `pdf`"):
        topology.report("pdf")


def test_results_are_compared(topology: strata.Topology, tmp_path: Path) -> None:
    file = tmp_path / "same.json"
    file.write_text(topology.to_json())
    same = strata.compare(topology, file)
    assert same.same and same.differs == []
    assert "same.json" in same.report()

    changed = json.loads(topology.to_json())
    changed["elements"]["constant_l1"]["size"].update(value=4096, low=4096, high=4096)
    other = strata.compare(topology, strata.load(changed))
    assert not other.same and repr(other) == "<Comparison: constant_l1 size differ>"
    assert [row["place"] for row in other.differs] == ["constant_l1 size"]
    three = strata.compare(topology, file, strata.load(changed))
    assert not three.same and len(three.differs) == 1
    with pytest.raises(strata.InputError, match="no element or part `l7`"):
        strata.compare(topology, file, only=["l7"])
