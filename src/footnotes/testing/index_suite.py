"""One suite for every index, whether it is in the library's folder, in its database or remote.

    from footnotes.testing.index_suite import IndexSuite, IndexUnderTest, StoreHarness

    class TestMyIndex(IndexSuite):
        damages = ("emptied",)

        @pytest.fixture
        def index(self, tmp_path):
            return MyIndex(StoreHarness(tmp_path / "library", {"index": "mine://…"}))

`IndexUnderTest` describes the index to the suite: which leg it serves, how to remove and restore it, how to damage it,
and how to inspect it from outside. It needs pytest and hypothesis (`pip install "footnotes[test]"`).
"""

from __future__ import annotations

from footnotes.testing.suite.harness import StoreHarness
from footnotes.testing.suite.index import IndexUnderTest
from footnotes.testing.suite.index_damage import Mending
from footnotes.testing.suite.index_filters import SameSet
from footnotes.testing.suite.index_outages import CatchingUp
from footnotes.testing.suite.index_recall import Recall
from footnotes.testing.suite.index_residue import Leaving, files_with
from footnotes.testing.suite.index_writers import Writers

__all__ = ["IndexSuite", "IndexUnderTest", "StoreHarness", "files_with"]


class IndexSuite(SameSet, Recall, CatchingUp, Mending, Leaving, Writers):
    """Everything an index promises."""
