from __future__ import annotations

import numpy as np
import pytest

from footnotes.index.dense_view import ROWS_AT_ONCE, row_products


@pytest.mark.parametrize("rows", [0, 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 3 * ROWS_AT_ONCE + 7])
def test_products_in_pieces_are_the_products(rows: int) -> None:
    made = np.random.default_rng(1).standard_normal((rows, 24)).astype(np.float32)
    vector = np.arange(24, dtype=np.float32)
    assert row_products(made, vector) == pytest.approx(made @ vector, rel=1e-4, abs=1e-4)
