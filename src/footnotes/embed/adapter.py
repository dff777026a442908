"""A linear map of questions' vectors, learnt from questions and the passages that answer them."""

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
    """The map, and the fingerprint of the embedder whose vectors it is for."""

    fingerprint: str
    matrix: Matrix

    def adapt(self, vector: Vector) -> Vector:
        """The vector of a question, nearer to what answers such questions; of the same length."""
        turned: Vector = self.matrix @ vector
        length = float(np.linalg.norm(turned))
        return turned * (float(np.linalg.norm(vector)) / length) if length > 0 else vector

    def save(self, file: Path) -> None:
        with file.open("wb") as opened:
            np.savez(opened, matrix=self.matrix.astype(np.float32), fingerprint=np.array(self.fingerprint))


def learn_matrix(questions: Matrix, passages: Matrix, *, strength: float) -> Matrix:
    """The map that brings questions to their passages and else changes as little as it can.

    Ridge regression towards the identity (Hoerl and Kennard, Technometrics 1970), in closed form: the W that has the
    least ‖W·question − passage‖² + strength · ‖W − I‖² over all pairs, `strength` counted in pairs.
    """
    asked, answers = questions.astype(np.float64), passages.astype(np.float64)
    ridge = strength * len(asked) * np.eye(asked.shape[1])
    matrix: Matrix = np.linalg.solve(asked.T @ asked + ridge, asked.T @ answers + ridge).T.astype(np.float32)
    return matrix


def load_adapter(file: str, fingerprint: str) -> Adapter:
    """The map in a file, or a clear error where it is none for this embedder."""
    try:
        with Path(file).expanduser().open("rb") as opened, np.load(opened, allow_pickle=False) as stored:
            found = Adapter(str(stored["fingerprint"]), np.asarray(stored["matrix"], dtype=np.float32))
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise ConfigError(f"question_adapter names no map of questions: {file}", remedy=_AGAIN) from error
    if found.fingerprint != fingerprint:
        raise ConfigError("question_adapter was learnt for the vectors of another model", remedy=_AGAIN)
    return found
