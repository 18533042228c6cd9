"""Names to lazy `module:attribute` strings, so that listing what there is imports none of it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from rung.errors import UserError, unknown

T = TypeVar("T")


class Registry(Generic[T]):
    """Everything of one kind that can be asked for by name.

    Other packages add theirs by an entry point in the group `rung.<kind>s`, with the same `module:attribute` form.
    """

    def __init__(self, kind: str, builtin: Mapping[str, str]) -> None:
        self.kind = kind
        self._targets = dict(builtin)
        self._outsiders_read = False

    def register(self, name: str, target: str) -> None:
        """Add one; two things of one name would make every result ambiguous, so that raises."""
        if self._targets.get(name, target) != target:
            raise UserError(f"Two {self.kind}s are called {name!r}: {self._targets[name]} and {target}.")
        self._targets[name] = target

    def names(self) -> list[str]:
        self._read_outsiders()
        return sorted(self._targets)

    def load(self, name: str) -> T:
        """The thing itself, imported now."""
        self._read_outsiders()
        if name not in self._targets:
            raise unknown(self.kind, name, self._targets)
        module_name, _, attribute = self._targets[name].partition(":")
        try:
            module = importlib.import_module(module_name)
            found: T = getattr(module, attribute)
        except (ImportError, AttributeError) as error:
            raise UserError(f"The {self.kind} {name} ({self._targets[name]}) cannot be loaded: {error}.") from error
        return found

    def _read_outsiders(self) -> None:
        if self._outsiders_read:
            return
        self._outsiders_read = True
        for point in entry_points(group=f"rung.{self.kind}s"):
            self.register(point.name, point.value)
