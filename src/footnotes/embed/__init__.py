"""Turns texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from footnotes.types import Role

Matrix: TypeAlias = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into unit vectors. One file per provider; batching, retries and checks are wrapped around it."""

    @property
    def name(self) -> str:
        """`provider:model`, as in the settings."""
        ...

    @property
    def fingerprint(self) -> str:
        """Model, revision, dimension: changes when vectors stop being comparable."""
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """The model truncates longer texts."""
        ...

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix: ...
