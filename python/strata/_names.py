"""Names near a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def advice(name: str, known: Iterable[str], also: Iterable[str] = ()) -> str:
    """What to write in place of a name that does not exist. Where nothing is near, only ``known`` is listed."""
    names = list(known)
    near = get_close_matches(name, [*names, *also], n=3, cutoff=0.6)
    if near:
        return "did you mean " + " or ".join(f"`{one}`" for one in near) + "?"
    return "there are " + ", ".join(names) if names else "there are none"
