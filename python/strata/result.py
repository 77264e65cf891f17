"""Results: what a discovery or a characterization found."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, Optional, Union

from . import _strata
from ._names import advice
from .errors import InputError
from .finding import Finding


class Facts(Mapping[str, Any]):
    """Facts by name, as attributes and as keys: ``t.device.name``, ``t.run["seed"]``."""

    def __init__(self, title: str, document: Mapping[str, Any]) -> None:
        self._title = title
        self._document = dict(document)

    def __getitem__(self, name: str) -> Any:
        return self._document[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._document)

    def __len__(self) -> int:
        return len(self._document)

    def __getattr__(self, name: str) -> Any:
        document = self.__dict__.get("_document", {})
        if name in document:
            return document[name]
        raise AttributeError(f"{self.__dict__.get('_title')} has no `{name}`; {advice(name, document)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._document]

    def __repr__(self) -> str:
        return f"<{self._title}: {self._document}>"


class _Findings(Mapping[str, Finding]):
    """Findings by name, as attributes and as keys."""

    def __init__(self, name: str, document: Mapping[str, Any], findings: Mapping[str, Any]) -> None:
        self.name = name
        self._document = document
        self._found = {key: Finding(f"{name}.{key}", found) for key, found in findings.items()}

    def __getitem__(self, name: str) -> Finding:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __getattr__(self, name: str) -> Finding:
        found: dict[str, Finding] = self.__dict__.get("_found", {})
        if name in found:
            return found[name]
        own = self.__dict__.get("name", "")
        raise AttributeError(_missing(f"{own}.{name}", f"{own} has no `{name}`", found, self))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._found]

    def to_dict(self) -> dict[str, Any]:
        """All of it as the JSON document has it."""
        return dict(self._document)

    def __repr__(self) -> str:
        lines = "".join(f"\n  {key}: {finding._short()}" for key, finding in self._found.items())
        return f"<{self.name}{lines}>"


class Element(_Findings):
    """An element of the memory hierarchy, such as the L2: its attributes by name."""


class Part(_Findings):
    """A part of a characterization: its findings by name."""

    #: What was asked.
    question: str
    #: The answer in sentences.
    meaning: list[str]
    #: What was measured, as plots.
    figures: list[dict[str, Any]]

    def __init__(self, name: str, document: Mapping[str, Any]) -> None:
        super().__init__(name, document, document.get("findings", {}))
        self.question = document.get("question", "")
        self.meaning = document.get("meaning", [])
        self.figures = document.get("figures", [])


class Result:
    """What a run found. It is made of the JSON document; ``strata schema`` prints what stands in it."""

    #: What the driver said of the device.
    device: Facts
    #: How the run was made.
    run: Facts
    #: The recording that the run wrote.
    recorded: Optional[str]

    def __init__(self, document: Mapping[str, Any], recorded: Optional[str] = None) -> None:
        self._document = document
        self.device = Facts("device", document.get("device", {}))
        self.run = Facts("run", document.get("run", {}))
        self.recorded = recorded

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return dict(self._document)

    def to_json(self) -> str:
        """The JSON document as text."""
        return json.dumps(self._document, indent=2, ensure_ascii=False)

    def report(self, format: str = "text", *, columns: int = 100) -> str:
        """The result as ``text``, ``details`` (a longer text), ``markdown`` or ``html``.

        A discovery also has ``mt4g``, ``hwloc``, ``machine``, ``accelsim`` and ``prometheus``. The page has no samples: ``strata replay
        FILE --format html`` makes one that has them.
        """
        return _strata.report(json.dumps(self._document), format, columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self._document == other._document

    __hash__ = None  # type: ignore[assignment]

    def _head(self, of: Mapping[str, Any]) -> str:
        simulated = ", simulated" if self.run.get("simulated") else ""
        return f"{type(self).__name__} of {self.device.get('name')}{simulated}: {', '.join(of)}"


class Topology(Result):
    """What a discovery found: the elements of the memory hierarchy by name.

    ``t.l2`` is an element and ``t.l2.size`` a finding. A name that was not measured is an ``AttributeError`` that says so.
    """

    #: The elements by name.
    elements: dict[str, Element]

    def __init__(self, document: Mapping[str, Any], recorded: Optional[str] = None) -> None:
        super().__init__(document, recorded)
        elements = document.get("elements", {})
        self.elements = {name: Element(name, element, element) for name, element in elements.items()}

    def __getattr__(self, name: str) -> Element:
        elements: dict[str, Element] = self.__dict__.get("elements", {})
        if name in elements:
            return elements[name]
        raise AttributeError(_missing(name, f"no element `{name}`", elements, self))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.elements]

    def __repr__(self) -> str:
        return f"<{self._head(self.elements)}>"


class Characterization(Result):
    """What access patterns cost: the parts of a characterization by name."""

    #: The parts by name.
    parts: dict[str, Part]

    def __init__(self, document: Mapping[str, Any], recorded: Optional[str] = None) -> None:
        super().__init__(document, recorded)
        self.parts = {name: Part(name, part) for name, part in document.get("parts", {}).items()}

    def __getattr__(self, name: str) -> Part:
        parts: dict[str, Part] = self.__dict__.get("parts", {})
        if name in parts:
            return parts[name]
        raise AttributeError(f"no part `{name}`; {advice(name, parts, _public(self))}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.parts]

    def __repr__(self) -> str:
        return f"<{self._head(self.parts)}>"


def load(source: Union[str, os.PathLike[str], Mapping[str, Any]]) -> Union[Topology, Characterization]:
    """A result that was written as JSON: a file of ``strata discover --format json``, or the document of ``to_dict``."""
    if isinstance(source, Mapping):
        return _of(source)
    try:
        with open(source, encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read `{os.fspath(source)}`: {error}") from error
    if not isinstance(document, dict):
        raise InputError(f"`{os.fspath(source)}` is no result of strata")
    return _of(document)


def _of(document: Mapping[str, Any], recorded: Optional[str] = None) -> Union[Topology, Characterization]:
    """The result in a document, by its schema."""
    schema = document.get("schema")
    if schema == "strata/topology/1":
        return Topology(document, recorded)
    if schema == "strata/characterization/1":
        return Characterization(document, recorded)
    raise InputError(f"this is no result of a discovery or a characterization: its schema is {schema!r}")


def _public(thing: object) -> list[str]:
    """The names that a class gives all its objects."""
    return [name for name in [*dir(type(thing)), *vars(thing)] if not name.startswith("_")]


def _missing(name: str, what: str, present: Mapping[str, Any], thing: object) -> str:
    """Why a name is not there: it does not exist, or was not measured."""
    if name in _strata.names():
        measured = ", ".join(present) or "nothing"
        return f"`{name}` is not in this result, which has {measured}; measure it, or name it in `only`"
    element, dot, own = name.rpartition(".")
    begin = element + dot
    known = [one[len(begin) :] for one in _strata.names() if one.startswith(begin)]
    known = [one for one in known if "." not in one]
    return f"{what}; {advice(own, dict.fromkeys([*present, *known]), _public(thing))}"
