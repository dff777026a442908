from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from footnotes.embed import Matrix
from footnotes.embed.checked import ATTEMPTS, LONGEST_WAIT, embed_all, embed_one
from footnotes.errors import DimensionMismatch, InvalidVector, ProviderRateLimited, ProviderRefused, ProviderTimeout
from footnotes.testing.embedder import HashingEmbedder
from footnotes.types import Role


class Altered(HashingEmbedder):
    """The hashing embedder with its answer changed, as a faulty provider would."""

    def __init__(self, change: Callable[[Matrix], Matrix]) -> None:
        super().__init__(dimensions=8)
        self.change = change

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        return self.change(super().embed(texts, role=role))


class Failing(HashingEmbedder):
    """Raises the errors it is given, one a call, then answers."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__(dimensions=8)
        self.errors = list(errors)

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        if self.errors:
            raise self.errors.pop(0)
        return super().embed(texts, role=role)


def test_vectors_come_back_in_order_whatever_the_batches() -> None:
    texts = ["one", "a much longer text of several words", "two two", "three", ""]
    embedder = HashingEmbedder()
    alone = [embed_one(embedder, text, role="passage") for text in texts]
    np.testing.assert_allclose(embed_all(embedder, texts, role="passage", batch=2), alone, atol=1e-6)


def test_batches_are_filled_and_no_larger() -> None:
    embedder = HashingEmbedder()
    embed_all(embedder, ["word"] * 70, role="passage", batch=32)
    assert (embedder.calls, embedder.texts) == (3, 70)


def test_nothing_to_embed() -> None:
    assert embed_all(HashingEmbedder(dimensions=8), [], role="passage").shape == (0, 8)


def test_vectors_become_unit() -> None:
    vectors = embed_all(Altered(lambda rows: rows * 7), ["a", "b"], role="passage")
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda rows: rows[:-1], InvalidVector),
        (lambda rows: np.vstack([rows, rows]), InvalidVector),
        (lambda rows: rows[0], InvalidVector),
        (lambda rows: rows[:, :-1], DimensionMismatch),
        (lambda rows: rows * np.nan, InvalidVector),
        (lambda rows: np.full_like(rows, np.inf), InvalidVector),
        (lambda rows: np.full(rows.shape, 1e40), InvalidVector),
        (lambda rows: rows * 0, InvalidVector),
    ],
)
def test_wrong_vectors_are_refused(change: Callable[[Matrix], Matrix], error: type[Exception]) -> None:
    with pytest.raises(error):
        embed_all(Altered(change), ["a", "b"], role="passage")


def test_what_may_pass_is_tried_again_waiting_longer() -> None:
    waits: list[float] = []
    embedder = Failing(ProviderTimeout("slow"), ProviderTimeout("slow"))
    embed_all(embedder, ["a"], role="passage", sleep=waits.append)
    assert len(waits) == 2
    assert all(0 <= wait <= LONGEST_WAIT for wait in waits)


def test_the_wait_a_provider_asks_for_is_kept() -> None:
    waits: list[float] = []
    limited = ProviderRateLimited("too many")
    limited.retry_after = 2.5  # type: ignore[attr-defined]
    embed_all(Failing(limited), ["a"], role="passage", sleep=waits.append)
    assert waits == [2.5]


def test_retries_end() -> None:
    embedder = Failing(*[ProviderTimeout("slow")] * (ATTEMPTS + 1))
    with pytest.raises(ProviderTimeout):
        embed_all(embedder, ["a"], role="passage", sleep=lambda _: None)
    assert len(embedder.errors) == 1


def test_a_refusal_is_not_tried_again() -> None:
    embedder = Failing(ProviderRefused("no"), ProviderRefused("no"))
    with pytest.raises(ProviderRefused):
        embed_all(embedder, ["a"], role="passage")
    assert len(embedder.errors) == 1
