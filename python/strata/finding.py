"""A value with its interval and source, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

from ._names import advice


class Finding:
    """One attribute of an element.

    A finding of several units, such as a latency in cycles and in nanoseconds, has a finding for each: ``latency.cycles`` and
    ``latency.ns``. Its own ``value``, ``unit`` and so on are those of the first.
    """

    #: The attribute, such as ``l2.size``.
    name: str
    #: Number, text, list or dict; ``None`` if it is unknown.
    value: Any
    #: Unit of ``value``, ``low`` and ``high``: ``B``, ``cycles``, ``ns``; ``None`` if it has none.
    unit: Optional[str]
    #: Lower end of the interval, or a lower bound of an unknown value.
    low: Optional[float]
    #: Upper end of the interval, or an upper bound of an unknown value.
    high: Optional[float]
    #: Confidence level of the interval; ``None`` where the interval is the observed range.
    level: Optional[float]
    #: ``measured``, ``driver`` or ``derived``; ``None`` if the value is unknown.
    source: Optional[str]
    #: How it was found.
    method: Optional[str]
    #: Numbers of the experiments that it rests on.
    experiments: list[int]
    #: What it was read from: by name, points of x, y, and the range of y.
    series: dict[str, list[list[float]]]
    #: What one should know besides.
    note: Optional[str]
    #: Why there is no value.
    reason: Optional[str]
    #: Whether the probe itself failed.
    failed: bool
    #: The findings by unit, if there are several.
    parts: dict[str, Finding]

    def __init__(self, name: str, document: Mapping[str, Any]) -> None:
        self.name = name
        self._document = document
        self.parts = {}
        if "value" not in document:
            self.parts = {key: Finding(f"{name}.{key}", part) for key, part in document.items()}
            document = next(iter(document.values()), {})
        self.value = document.get("value")
        self.unit = document.get("unit")
        self.low = document.get("low")
        self.high = document.get("high")
        self.level = document.get("level")
        self.source = document.get("source")
        self.method = document.get("method")
        self.experiments = document.get("experiments", [])
        self.series = document.get("series", {})
        self.note = document.get("note")
        self.reason = document.get("reason")
        self.failed = document.get("failed", False)

    @property
    def known(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    def to_dict(self) -> dict[str, Any]:
        """The finding as the JSON document has it."""
        return dict(self._document)

    def __getattr__(self, name: str) -> Finding:
        parts: dict[str, Finding] = self.__dict__.get("parts", {})
        if name in parts:
            return parts[name]
        known = [*parts, *(key for key in self.__dict__ if not key.startswith("_")), "known", "to_dict"]
        raise AttributeError(f"{self.__dict__.get('name', 'finding')} has no `{name}`; {advice(name, known)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.parts]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Finding) and (self.name, self._document) == (other.name, other._document)

    def __hash__(self) -> int:
        return hash((self.name, str(self.value)))

    def _short(self) -> str:
        if self.parts:
            return ", ".join(part._short() for part in self.parts.values())
        unit = f" {self.unit}" if self.unit else ""
        if not self.known:
            bounds = [f"at least {_plain(self.low)}{unit}"] if self.low is not None else []
            bounds += [f"at most {_plain(self.high)}{unit}"] if self.high is not None else []
            return "; ".join(["unknown", *bounds, self.reason or ""])
        interval = ""
        if self.low is not None and self.high is not None:
            interval = f" [{_plain(self.low)} to {_plain(self.high)}]"
        value = _plain(self.value)
        if len(value) > 60:
            value = value[:57] + "..."
        return f"{value}{unit}{interval}, {self.source}"

    def __repr__(self) -> str:
        return f"<{self.name}: {self._short()}>"


def _plain(value: Any) -> str:
    """A number without a decimal point that says nothing."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
