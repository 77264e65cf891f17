"""Comparisons of results."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any, Optional, Union

from . import _strata
from .result import Result

#: What can be compared: a result, the path of one or of a recording, or ``reference:NAME`` for published values.
Side = Union[Result, str, "os.PathLike[str]"]


class Comparison:
    """What came of a comparison."""

    #: Whether nothing differs and all that was required is known.
    same: bool

    def __init__(self, compared: _strata.Compared) -> None:
        self._compared = compared
        self._document: dict[str, Any] = json.loads(compared.json())
        self.same = compared.same()

    @property
    def differs(self) -> list[dict[str, Any]]:
        """What differs, as the JSON document has it; of three results or more, the rows in which a pair differs."""
        if "differs" in self._document:
            return list(self._document["differs"])
        return [row for row in self._document["rows"] if row["pairs_differ"]]

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return dict(self._document)

    def report(self, format: str = "text", *, columns: int = 100) -> str:
        """The comparison as ``text``, ``markdown`` or ``html``."""
        return self._compared.report(format, columns)

    def __repr__(self) -> str:
        places = ", ".join(row["place"] for row in self.differs)
        return f"<Comparison: {'the same' if self.same else places + ' differ'}>"


def compare(
    a: Side,
    b: Side = "reference",
    *more: Side,
    only: Iterable[str] = (),
    require: Iterable[str] = (),
    tolerance: float = 0.0,
    max_age: Optional[str] = None,
) -> Comparison:
    """Compares two results or more. Two numbers differ if their intervals do not overlap.

    :param a: a result, the path of a result as JSON or of a recording, or ``reference:NAME`` for published values.
    :param b: likewise; ``reference`` takes what is published of the GPU of ``a``.
    :param only: compare only these elements, attributes or parts.
    :param require: what must be known on all sides.
    :param tolerance: distances of up to this many per cent count as none.
    :param max_age: how old the side that is judged may be, such as ``1h``.
    :raises InputError: for what cannot be read or compared.
    """
    given = [_given(side, place) for place, side in enumerate((a, b, *more), start=1)]
    return Comparison(_strata.compare(given, list(only), list(require), tolerance, max_age))


def _given(side: Side, place: int) -> tuple[str, Optional[str]]:
    if isinstance(side, Result):
        name = side.to_dict().get("replayed_from") or side.recorded or f"result {place}"
        return str(name), side.to_json()
    return os.fspath(side), None
