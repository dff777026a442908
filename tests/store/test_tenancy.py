"""Three tenants in one folder, random operations, restarts: nobody ever sees anything of another."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from footnotes.engine import Library
from footnotes.errors import NotFound
from libraries import quick_library

TENANTS = ("ada", "ben", "cy/../ada")


class Tenants(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.libraries: dict[str, Library] = {}
        self.oracle: dict[str, dict[str, str]] = {tenant: {} for tenant in TENANTS}
        for tenant in TENANTS:
            self.open(tenant)

    def open(self, tenant: str) -> None:
        self.libraries[tenant] = quick_library(self.folder, user=tenant)

    @rule(tenant=st.sampled_from(TENANTS), number=st.integers(0, 6))
    def add(self, tenant: str, number: int) -> None:
        text = f"shared words and secret{number} of everybody"
        added = self.libraries[tenant].add_text(text, filename=f"{number}.txt", source=f"s{number}")
        assert added.document_id is not None
        self.oracle[tenant][added.document_id] = text

    @rule(tenant=st.sampled_from(TENANTS), pick=st.integers(0, 5))
    def delete(self, tenant: str, pick: int) -> None:
        ids = sorted(self.oracle[tenant])
        if ids:
            chosen = ids[pick % len(ids)]
            self.libraries[tenant].delete(chosen)
            del self.oracle[tenant][chosen]

    @rule(tenant=st.sampled_from(TENANTS), other=st.sampled_from(TENANTS))
    def foreign_ids_do_not_exist(self, tenant: str, other: str) -> None:
        foreign = sorted(set(self.oracle[other]) - set(self.oracle[tenant]))
        if not foreign:
            return
        library = self.libraries[tenant]
        for call in (library.document, library.text, library.chunks, library.delete):
            with pytest.raises(NotFound) as theirs:
                call(foreign[0])
            with pytest.raises(NotFound) as nobodys:
                call("d0123456789abcdef")
            assert str(theirs.value).replace(foreign[0], "X") == str(nobodys.value).replace("d0123456789abcdef", "X")

    @rule(tenant=st.sampled_from(TENANTS))
    def reindex(self, tenant: str) -> None:
        if self.oracle[tenant]:
            self.libraries[tenant].reindex(chunker="window")

    @rule(tenant=st.sampled_from(TENANTS))
    def restart(self, tenant: str) -> None:
        self.libraries[tenant].close()
        self.open(tenant)

    @rule(tenant=st.sampled_from(TENANTS), where=st.sampled_from(["user_id=ada", "user_id!=x", "collection=default"]))
    def filters_cannot_widen(self, tenant: str, where: str) -> None:
        hits = self.libraries[tenant].search("shared secret words", where=where, limit=100).hits
        assert {hit.document_id for hit in hits} <= set(self.oracle[tenant])

    @invariant()
    def everybody_finds_exactly_their_own(self) -> None:
        for tenant, library in self.libraries.items():
            for mode in ("lexical", "dense"):
                hits = library.search("shared words", limit=100, mode=mode).hits
                # Near-identical texts are shown once, so a subset that is never empty is what can be asked for.
                assert {hit.document_id for hit in hits} <= set(self.oracle[tenant])
                assert bool(hits) == bool(self.oracle[tenant])
            assert {document.id for document in library.documents()} == set(self.oracle[tenant])

    def teardown(self) -> None:
        for library in self.libraries.values():
            library.close()
        shutil.rmtree(self.folder)


TestTenants = Tenants.TestCase
TestTenants.settings = settings(max_examples=8, stateful_step_count=12, deadline=None)
