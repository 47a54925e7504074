"""The models of a comparison fitted to all rows, each when it is first asked for. Row V1. Cost: a fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


class Refits(Mapping[str, Any]):
    """name → the model fitted to all rows, as a pipeline from the columns as given; fitted when first asked for.

    ``models[name]`` fits it where that has not been done; ``models.fitted`` names those that are.
    """

    def __init__(self, names: tuple[str, ...], fit: Callable[[str], Any]):
        self._names, self._fit = names, fit
        self._held: dict[str, Any] = {}
        self.told: set[str] = set()  # given their scores out of fold: once, as they may be fitted anew

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(f"{name!r} was not compared: the models are {', '.join(self._names)}")
        if name not in self._held:
            self._held[name] = self._fit(name)
        return self._held[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def fitted(self) -> tuple[str, ...]:
        return tuple(name for name in self._names if name in self._held)

    def __repr__(self) -> str:
        return f"models: {', '.join(self._names)}; fitted to all rows: {', '.join(self.fitted) or 'none yet'}"
