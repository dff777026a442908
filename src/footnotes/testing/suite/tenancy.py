"""Promise G: three tenants in one store, random operations, restarts: no tenant sees data of another."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from footnotes.errors import NotFound
from footnotes.library import Library
from footnotes.store.conversations import NewTurn, TurnUpdate
from footnotes.testing.suite.harness import StoreHarness
from footnotes.testing.suite.strings import TRAVEL

TENANTS = ("ada", "ben", "cy/../ada")


class Tenants(RuleBasedStateMachine):
    """Every tenant finds exactly its own documents."""

    harness: StoreHarness
    round = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).round += 1
        self.names = [f"{tenant}{self.round}" for tenant in TENANTS]
        self.libraries: dict[str, Library] = {name: self.harness.open(name) for name in self.names}
        self.oracle: dict[str, dict[str, str]] = {name: {} for name in self.names}

    @rule(tenant=st.integers(0, 2), number=st.integers(0, 6))
    def add(self, tenant: int, number: int) -> None:
        text = f"shared words and secret{number} of everybody"
        name = self.names[tenant]
        added = self.libraries[name].add_text(text, filename=f"{number}.txt", source=f"s{number}")
        assert added.document_id is not None
        self.oracle[name][added.document_id] = text

    @rule(tenant=st.integers(0, 2), pick=st.integers(0, 5))
    def delete(self, tenant: int, pick: int) -> None:
        name = self.names[tenant]
        if ids := sorted(self.oracle[name]):
            chunk_id = ids[pick % len(ids)]
            self.libraries[name].delete(chunk_id)
            del self.oracle[name][chunk_id]

    @rule(tenant=st.integers(0, 2), other=st.integers(0, 2))
    def foreign_ids_do_not_exist(self, tenant: int, other: int) -> None:
        name = self.names[tenant]
        foreign = sorted(set(self.oracle[self.names[other]]) - set(self.oracle[name]))
        if not foreign:
            return
        library = self.libraries[name]
        for call in (library.document, library.text, library.chunks, library.delete, library.original):
            with pytest.raises(NotFound) as theirs:
                call(foreign[0])
            with pytest.raises(NotFound) as nobodys:
                call("d0123456789abcdef")
            assert str(theirs.value).replace(foreign[0], "X") == str(nobodys.value).replace("d0123456789abcdef", "X")

    @rule(tenant=st.integers(0, 2))
    def reindex(self, tenant: int) -> None:
        if self.oracle[self.names[tenant]]:
            self.libraries[self.names[tenant]].reindex(chunker="window")

    @rule(tenant=st.integers(0, 2))
    def restart(self, tenant: int) -> None:
        name = self.names[tenant]
        self.libraries[name].close()
        self.libraries[name] = self.harness.open(name)

    @rule(tenant=st.integers(0, 2), where=st.sampled_from(["user_id=ada1", "user_id!=x", "collection=default"]))
    def filters_cannot_widen(self, tenant: int, where: str) -> None:
        name = self.names[tenant]
        hits = self.libraries[name].search("shared secret words", where=where, limit=100).hits
        assert {hit.document_id for hit in hits} <= set(self.oracle[name])

    @invariant()
    def everybody_finds_exactly_their_own(self) -> None:
        for name, library in self.libraries.items():
            for mode in ("lexical", "dense"):
                hits = library.search("shared words", limit=100, mode=mode).hits
                # Near-identical texts are shown once, so only a subset that is never empty can be checked.
                assert {hit.document_id for hit in hits} <= set(self.oracle[name])
                assert bool(hits) == bool(self.oracle[name])
            assert {document.id for document in library.documents()} == set(self.oracle[name])
            assert library.status()["ready"] == len(self.oracle[name])

    def teardown(self) -> None:
        for library in self.libraries.values():
            library.close()


class Tenancy:
    """Data of one tenant is invisible to all others."""

    def test_nobody_sees_anything_of_another(self, harness: StoreHarness) -> None:
        machine = type("TenantsOfThisStore", (Tenants,), {"harness": harness})
        checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
        options = settings(max_examples=5, stateful_step_count=10, deadline=None, suppress_health_check=checks)
        run_state_machine_as_test(machine, settings=options)

    def test_the_same_bytes_of_two_tenants_are_two_documents(self, harness: StoreHarness) -> None:
        with harness.open("ada") as ada, harness.open("ben") as ben:
            first = ada.add_text(TRAVEL, filename="a.txt", metadata={"of": "ada"})
            second = ben.add_text(TRAVEL, filename="a.txt")
            assert first.status == second.status == "ready"
            assert [document.metadata.get("of") for document in ben.documents()] == [None]
            ada.delete(str(first.document_id))
            assert ben.search("train").hits and not ada.search("train").hits
            assert sorted(ada._store.users()) == ["ada", "ben"]
            assert ada.status()["ready"] == 0 and ben.status()["ready"] == 1
            assert ada.jobs() == [] and ada.near_duplicates() == {}

    def test_libraries_may_share_an_open_store(self, harness: StoreHarness) -> None:
        with harness.open("ada") as ada:
            other = replace(ada.settings, user="ben")
            with Library(harness.folder, settings=other, embedder=ada.embedder(), store=ada._store) as ben:
                ben.add_text(TRAVEL, filename="a.txt")
                assert ben.search("train").hits and not ada.search("train").hits
            ada.add_text(TRAVEL, filename="a.txt")  # the store is still open
            assert ada.search("train").hits

    def test_conversations_are_kept_for_their_tenant_and_end_with_what_they_quote(self, harness: StoreHarness) -> None:
        with harness.open("ada") as ada, harness.open("ben") as ben:
            added = ada.add_text(TRAVEL, filename="a.txt")
            conversations, place = ada.conversations, ("c1", 1)
            new = NewTurn("Who may TRAVEL?\x00", {"deep": True}, "holder", owner="key", most=2)
            assert conversations.ask("ada", "c1", new, begins=True) == 1
            assert conversations.update("ada", place, TurnUpdate("asking", "So far"), holder="holder")
            assert not conversations.update("ada", place, TurnUpdate("asking", "not theirs"), holder="somebody else")
            end = TurnUpdate("done", "So far and on", {"citations": [{"quote": "x"}]}, None, [str(added.document_id)])
            assert conversations.update("ada", place, end, holder="holder")
            conversations.rate("ada", "c1", 1, "up", "good")
            (turn,) = conversations.turns("ada", "c1")
            assert (turn.state, turn.text, turn.rating, turn.request) == ("done", "So far and on", "up", {"deep": True})
            assert turn.answer == {"citations": [{"quote": "x"}]}
            assert [one.id for one in conversations.all("ada", sought="who may travel")] == ["c1"]
            assert ben.conversations.all("ben") == [] and ben.conversations.turns("ben", "c1") == []
            with pytest.raises(NotFound):
                ben.conversations.delete("ben", "c1")
            ada.delete(str(added.document_id))
            (turn,) = conversations.turns("ada", "c1")
            assert (turn.state, turn.text, turn.answer, turn.rating) == ("forgotten", "", None, "up")
            conversations.delete("ada", "c1")
            assert conversations.all("ada") == []

    def test_what_models_said_is_remembered_for_every_machine_and_for_no_other_tenant(
        self, harness: StoreHarness
    ) -> None:
        with harness.open("one") as library, harness.open("two") as other:
            mine, theirs = library._store.memories("one"), other._store.memories("two")
            mine.remember("text", "key", "3,5")
            mine.remember("text", "key", "another")
            mine.remember("", "key", "7")
            assert theirs.recall("text", "key") is None and theirs.scopes() == []
            with harness.open("one") as elsewhere:
                assert elsewhere._store.memories("one").recall("text", "key") == "3,5"
            theirs.forget(["text"])
            mine.forget([""])
            assert mine.recall("", "key") is None and mine.scopes() == ["text"]
