"""A linear map for question vectors, learnt from questions and the passages that answer them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from footnotes.embed import Matrix
from footnotes.errors import ConfigError
from footnotes.index import Vector

_AGAIN = "Run `footnotes tune --write` again, or remove question_adapter from the settings."


@dataclass(frozen=True, slots=True)
class Adapter:
    """The map and the fingerprint of the embedder it belongs to."""

    fingerprint: str
    matrix: Matrix

    def adapt(self, vector: Vector) -> Vector:
        """Return the question's vector moved towards the passages that answer such questions, at its old length."""
        mapped: Vector = self.matrix @ vector
        length = float(np.linalg.norm(mapped))
        return mapped * (float(np.linalg.norm(vector)) / length) if length > 0 else vector

    def save(self, file: Path) -> None:
        with file.open("wb") as stream:
            np.savez(stream, matrix=self.matrix.astype(np.float32), fingerprint=np.array(self.fingerprint))


def learn_matrix(questions: Matrix, passages: Matrix, *, strength: float) -> Matrix:
    """Learn the map that moves questions to their passages and changes as little else as possible.

    Ridge regression towards the identity (Hoerl and Kennard, Technometrics 1970), in closed form: the W that minimises
    ‖W·question − passage‖² + strength · ‖W − I‖² over all pairs, with `strength` counted in pairs.
    """
    queries, answers = questions.astype(np.float64), passages.astype(np.float64)
    ridge = strength * len(queries) * np.eye(queries.shape[1])
    matrix: Matrix = np.linalg.solve(queries.T @ queries + ridge, queries.T @ answers + ridge).T.astype(np.float32)
    return matrix


def load_adapter(file: str, fingerprint: str) -> Adapter:
    """Load the map from a file. Raises if the file holds no map for this embedder."""
    try:
        with Path(file).expanduser().open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            found = Adapter(str(stored["fingerprint"]), np.asarray(stored["matrix"], dtype=np.float32))
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise ConfigError(f"question_adapter names no map of questions: {file}", remedy=_AGAIN) from error
    if found.fingerprint != fingerprint:
        raise ConfigError("question_adapter was learnt for the vectors of another model", remedy=_AGAIN)
    return found
