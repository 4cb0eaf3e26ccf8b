"""A forked process has none of its parent's threads, and may have locks that one of them held."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forked(Protocol):
    def _begin_afresh(self) -> None:
        """Called in a new process, before anything else of the object is."""


_alive: weakref.WeakSet[Forked] = weakref.WeakSet()


def watch(it: Forked) -> None:
    _alive.add(it)


def _begin_afresh() -> None:
    for it in list(_alive):
        it._begin_afresh()


# Not on Windows, which has no forks.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_afresh)
