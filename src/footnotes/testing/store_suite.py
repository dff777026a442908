"""One suite for every store. To test a store:

    from footnotes.testing.store_suite import StoreHarness, StoreSuite

    class TestMyStore(StoreSuite):
        @pytest.fixture
        def harness(self, tmp_path):
            return StoreHarness(tmp_path / "library", {"store": "mine://…"})

A harness is an empty store. It needs pytest and hypothesis (`pip install "footnotes[test]"`).
"""

from __future__ import annotations

from footnotes.testing.suite.filtering import Filtering
from footnotes.testing.suite.generations import Generations
from footnotes.testing.suite.harness import StoreHarness
from footnotes.testing.suite.keeping import Keeping, Removal, Working
from footnotes.testing.suite.ranking import Ranking
from footnotes.testing.suite.strings import Strings
from footnotes.testing.suite.tenancy import Tenancy
from footnotes.testing.suite.together import Together

__all__ = ["StoreHarness", "StoreSuite"]


class StoreSuite(Keeping, Working, Together, Generations, Strings, Ranking, Removal, Filtering, Tenancy):
    """Everything a store promises."""
