"""What several tests use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import strata


@pytest.fixture(scope="session")
def topology() -> strata.Topology:
    """A discovery of a small part of a simulated machine."""
    only = ["constant_l1.size", "constant_l1.latency", "l2.size", "l2.sets"]
    return strata.discover(device="sim:k20c", only=only, effort="quick")


@pytest.fixture
def copies() -> Path:
    """The smallest committed recording of a GPU."""
    return Path(os.environ["RECORDINGS"]) / "2026-11-26-h200-copies.strata"
