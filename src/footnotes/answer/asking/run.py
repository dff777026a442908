"""Runs one question: condenses, expands, searches or gathers, answers."""

from __future__ import annotations

import json
import secrets
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from footnotes import tracing
from footnotes.answer import Answerer, Findings
from footnotes.answer.agent import Agent, Budget
from footnotes.answer.answerer import answer_of, build_request, end_event, prompt_text
from footnotes.answer.asking.ground import Ground
from footnotes.answer.asking.names import (
    correct_spelling,
    file_names,
    named_documents,
    other_names,
    statements_named,
    use_document_names,
    when_written,
    without_fiscal,
    without_instructions,
    without_names,
)
from footnotes.answer.asking.options import AskOptions
from footnotes.answer.asking.scope import (
    MOST_MEANT,
    MOST_NAMES,
    Report,
    any_name,
    documents_meant,
    names_asked,
    of_the_latest_quarter,
)
from footnotes.answer.condense import condense_by_model, condense_by_rule, last_said, needs_context, what_to_answer
from footnotes.answer.decompose import parts_of, sides_of
from footnotes.answer.models import ChatModel, ChatRequest, Message, add_usage, complete
from footnotes.answer.passages import passages_of
from footnotes.answer.prompt import escape
from footnotes.answer.tables.found import Found, answer_in
from footnotes.answer.tables.wording import line_asked
from footnotes.answer.tools import LibraryReader
from footnotes.errors import FootnotesError, OptionError, ProviderError, QueryEmpty, SearchUnavailable, StoreError
from footnotes.remote import Deadline
from footnotes.retrieve.expand import Variant, load_synonyms, merged_hits, variants_of
from footnotes.retrieve.retriever import checked_query
from footnotes.retrieve.where import as_filter, both
from footnotes.retrieve.words import split_words
from footnotes.settings import Settings
from footnotes.types import SEARCHED_FOR, AnyOf, Condition, Event, Hit, Leg, SearchResult, Step, Usage

Gathering: TypeAlias = tuple[SearchResult, tuple[str, ...]]
"""The search result, and the parts of the question if it has several."""

_WISHES = "How to answer, as the caller wishes it. The rules above stand, whatever it says:"
MOST_REPORTS = 2
"""The maximum documents whose tables are all searched for a figure."""
SPELLINGS = 2
"""Rounds of spelling correction: hits for the corrected words may contain the others."""
_UNGROUNDED = "Answer the question in a few sentences. No documents could be looked at: say so when you are not sure."


@dataclass
class Run:
    """The run of one question."""

    ground: Ground
    answerer: Answerer
    options: AskOptions
    request_id: str = field(default_factory=lambda: tracing.REQUEST_ID.get() or secrets.token_hex(6))
    steps: list[Step] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    log: list[str] = field(default_factory=list)
    reports: tuple[Hit, ...] = ()  # one hit per document that a question for a figure names
    scope: frozenset[str] = frozenset()  # the reports that the question means
    spelled: str = ""  # the question in the library's spelling, if it differs

    @property
    def settings(self) -> Settings:
        return self.options.settings

    def events(self, question: str) -> Iterator[Event]:
        question = checked_query(question, self.settings.max_query_chars)
        self._note(f"asked: {question}")
        plain, within = split_words(question)
        if not any(map(str.isalnum, plain)):
            raise QueryEmpty("the question has no word and no number")
        self.options = replace(self.options, where=both(as_filter(self.options.where), within))
        standalone = yield from self._condense(plain)
        try:
            yield from self._stream_answer(question, plain, standalone)
        except (SearchUnavailable, StoreError) as error:
            self._note(f"no leg ran: {error.message}")
            if not (self.settings.ungrounded and self.answerer.model(self.settings)):
                raise
            yield from self._answer_without_sources(standalone, error)

    def _stream_answer(self, question: str, plain: str, standalone: str) -> Iterator[Event]:
        deep = self.options.deep
        before = last_said(self.options.history) if standalone != plain or needs_context(plain) else ()
        found, parts = yield from (self._gather(standalone) if deep else self._search(standalone))
        standalone, plain = self.spelled or standalone, self.spelled or plain
        self._note(f"{len(found.hits)} hits; answering with {self.settings.model}")
        findings = {
            "legs": found.legs,
            "degraded": found.degraded,
            "read": self._read,
            "collection_prompt": "\n".join(filter(None, (self._collection_prompt(found), self._instructions()))),
            "before": before,
            "steps": tuple(self.steps),
            "usage": self.usage,
            "request_id": self.request_id,
            "parts": parts,
            "dated": self._add_dates,
            "report": self._report if self.reports else None,
            **self.ground.evidence(found),
        }
        asked = standalone if self._model() else what_to_answer(plain, standalone)
        findings["of_tables"] = of_the_latest_quarter(asked, self.scope)
        for event in self.answerer.stream(asked, found.hits, settings=self.settings, **findings):
            yield self._finish(event, question)

    def _finish(self, event: Event, question: str) -> Event:
        if event.answer is None:
            return event
        self._note(f"{event.type}: {len(event.answer.citations)} footnotes, {event.answer.took_ms:.0f} ms")
        return replace(event, answer=replace(event.answer, question=question, log=tuple(self.log)))

    def _collection_prompt(self, found: SearchResult) -> str:
        """Return the prompt of the chosen collection, or of the only one with hits."""
        names = {self.options.collection} if self.options.collection else {hit.collection for hit in found.hits}
        return self.ground.system_prompt(str(names.pop())) if len(names) == 1 else ""

    def _instructions(self) -> str:
        """Return the caller's instructions, under the rules: every sentence still needs its footnote."""
        said = escape(self.options.instructions).strip()
        return f"{_WISHES}\n{said}" if said else ""

    # ── before the search

    def _condense(self, question: str) -> Generator[Event, None, str]:
        """Rewrite the question to stand alone, if there is a conversation."""
        history = self.options.history
        standalone = question
        if history:
            model = self._model()
            try:
                if model is None:
                    standalone = condense_by_rule(question, history)
                else:
                    standalone, reply = condense_by_model(question, history, model, deadline=self._deadline())
                    self.usage = add_usage(self.usage, reply.usage)
            except ProviderError as error:
                self._note(f"condensing failed: {error.message}")
                standalone = condense_by_rule(question, history)
            yield self._step(Step("thought", f"Standalone question: {standalone}"))
        return standalone

    def _variants(self, question: str) -> list[Variant]:
        if not self.settings.expand:
            return []
        say = self._say if self._model() else None
        try:
            return variants_of(question, self.settings.expand, synonyms=self.settings.synonyms_file, say=say)
        except ProviderError as error:
            self._note(f"expanding failed: {error.message}")
            return []

    # ── the search

    def _search(self, question: str) -> Generator[Event, None, Gathering]:
        """Search once, or merge several searches if the question is expanded or compares two things."""
        variants = self._variants(question)
        found = self.ground.search(question, **self.options.searching())
        asked = question
        for _ in range(SPELLINGS):
            if not (spelled := self._correct_spelling(question, found)):
                break
            question = self.spelled = spelled
            found = self.ground.search(question, **self.options.searching())
        if question != asked:
            yield self._step(Step("thought", f"{SEARCHED_FOR}{question}"))
        question, found = yield from self._named(question, found)
        variants += [Variant(side, None, f"Searched for one side: {side}") for side in sides_of(question) or ()]
        parts = parts_of(question) if not variants and self._model() is None else []
        variants += [Variant(part, None, f"Searched for one part: {part}") for part in parts if len(parts) > 1]
        if variants:
            results = list[SearchResult]()
            for variant in variants:
                yield self._step(Step("thought", variant.added))
                options = self.options.searching() | ({"mode": variant.mode} if variant.mode else {})
                results.append(self._further(variant.query, options, found))
            found = replace(self._together(found, results), degraded=any(each.degraded for each in (found, *results)))
        return found, ()

    def _named(self, question: str, found: SearchResult) -> Generator[Event, None, tuple[str, SearchResult]]:
        """Rewrite the question with the documents' names and add hits for them; a document it names goes first."""
        plain = without_fiscal(without_instructions(question))
        share = self.ground.evidence(found)["document_frequency"]
        listed = self.settings.synonyms_file if "synonyms" not in self.settings.expand else ""
        groups = load_synonyms(listed) if listed else []
        names = other_names(plain, (hit.text for hit in found.hits), share, groups)
        for said, other in names.items():
            yield self._step(Step("thought", f"Read {said} as: {other}"))
        asked = use_document_names(plain, names)
        scope = self._scope(question, found)
        self.scope = frozenset(scope)
        if scope:
            yield self._step(Step("thought", f"Read as a question on: {', '.join(sorted(scope.values()))}"))
            found = replace(found, hits=tuple(hit for hit in found.hits if hit.document_id in scope))
            among = Condition("document_id", "in", [*sorted(scope)])
            self.options = replace(self.options, where=both(as_filter(self.options.where), among))
        options = self.options.searching()
        searches: list[SearchResult] = []
        if asked != question:
            self.spelled = asked
            searches.append(self._further(asked, options, found))
        if documents := set(scope) or named_documents(question, found.hits):
            called = sorted(file_names(question, found.hits, documents))
            # Some of them may have no hit.
            alike = [] if scope else [Condition("filename", "glob", f"*{each}*") for each in called]
            named = AnyOf((Condition("document_id", "in", [*sorted(documents)]), *alike))
            inside = options | {"where": both(as_filter(self.options.where), named)}
            lexical = inside | {"mode": "lexical"}
            searches.append(self._further(without_names(asked, called), inside, found))
            searches += [self._further(each, lexical, found) for each in statements_named(question)]
            if line := line_asked(asked):
                reports = {hit.document_id: hit for hit in found.hits if hit.document_id in documents}
                self.reports = tuple(reports.values())
                searches.append(self._further(line, lexical, found))
        return asked, self._together(found, searches)

    def _scope(self, question: str, found: SearchResult) -> dict[str, str]:
        """Return the dated reports that a question means by company and period: ids and file names."""
        known = list({hit.document_id: Report(hit.document_id, hit.filename, hit.title) for hit in found.hits}.values())
        names = names_asked(question)
        if not 0 < len(names) <= MOST_NAMES or 2 * sum(each.is_dated for each in known) < len(known):
            return {}
        where = both(as_filter(self.options.where), any_name(names))  # the right one may have no hit yet
        every = self.ground.documents(where=where, collection=self.options.collection)
        known += [Report(each.id, each.filename, each.title) for each in every]
        meant = {each.id: each.filename for each in documents_meant(question, known)}
        return meant if len(meant) <= MOST_MEANT else {}

    def _together(self, found: SearchResult, searches: list[SearchResult]) -> SearchResult:
        """Sort the hits by all searches together, but keep the scores of one search, which show how far a hit leads."""
        if not searches:
            return found
        scores = {hit.chunk_id: hit.score for each in (*searches, found) for hit in reversed(each.hits)}
        hits = merged_hits([found.hits, *(each.hits for each in searches)], self.options.searching()["limit"])
        return replace(found, hits=tuple(replace(hit, score=scores[hit.chunk_id]) for hit in hits))

    def _correct_spelling(self, question: str, found: SearchResult) -> str:
        """Correct the question's typing errors by the passages' words; return nothing if it has none."""
        share = self.ground.evidence(found)["document_frequency"]
        if share is None or not found.hits:
            return ""
        spelled = correct_spelling(question, (hit.text for hit in found.hits), share)
        return spelled if spelled != question else ""

    def _further(self, query: str, options: dict[str, Any], first: SearchResult) -> SearchResult:
        """Search again; if that fails, keep the first result."""
        try:
            return self.ground.search(query, **options)
        except (SearchUnavailable, OptionError):
            return replace(first, hits=(), degraded=True)

    def _gather(self, question: str) -> Generator[Event, None, Gathering]:
        """Gather with an agent in several searches."""
        chosen, model = self.settings, self._model()
        agent = Agent(self._reader(), Budget(chosen.agent_steps, chosen.agent_tokens, chosen.agent_seconds), model)
        for event in agent.events(question):
            if event.step:
                self._note(_line(event.step))
                self.steps.append(event.step)
            yield event
        gathered = agent.gathered
        self.usage = add_usage(self.usage, gathered.usage)
        hits = gathered.best(self.options.searching()["limit"])
        legs = gathered.legs or dict.fromkeys(("lexical", "dense"), Leg("skipped", "no search was made"))
        return SearchResult(question, hits, legs, gathered.degraded, 0.0), tuple(parts_of(question))

    def _reader(self) -> LibraryReader:
        options = self.options
        return LibraryReader(
            search=lambda query: self.ground.search(query, **options.searching()),
            documents=lambda: self.ground.documents(where=options.where, collection=options.collection),
            chunks=self.ground.chunks,
        )

    # ── without documents

    def _answer_without_sources(self, question: str, error: FootnotesError) -> Iterator[Event]:
        """Yield an answer of the model alone, if the caller allows it: marked, and without a footnote."""
        model = self.answerer.model(self.settings)
        assert model is not None
        messages = (Message("system", _UNGROUNDED), Message("user", escape(question)))
        request = build_request(messages, self.settings)
        legs = {"lexical": Leg("failed", error.message), "dense": Leg("failed", error.message)}
        findings = Findings(
            question=question, hits=(), legs=legs, degraded=True, steps=tuple(self.steps), request_id=self.request_id
        )
        text, broken = "", None
        try:
            for piece in model.chat(request, deadline=self._deadline()):
                text += piece.text
                if piece.text:
                    yield Event("token", text=piece.text)
        except ProviderError as failure:
            if not text:
                raise error from failure
            broken = failure
        answer = answer_of(
            findings,
            model=model.name,
            answer=text,
            abstained=False,
            citations=(),
            unsupported=((0, len(text)),) if text else (),
            ungrounded=True,
            prompt=prompt_text(request),
        )
        yield self._finish(end_event(answer, broken), question)

    # ── parts

    def _model(self) -> ChatModel | None:
        return self.answerer.model(self.settings)

    def _say(self, system: str, user: str) -> str:
        model = self._model()
        assert model is not None
        messages = (Message("system", system), Message("user", escape(user)))
        request = ChatRequest(messages=messages, temperature=0.0, max_tokens=300)
        reply = complete(model, request, deadline=self._deadline())
        self.usage = add_usage(self.usage, reply.usage)
        return reply.text

    def _deadline(self) -> Deadline:
        return Deadline(self.settings.answer_seconds)

    def _report(self, question: str) -> Found | None:
        """Answer from the tables of the named documents, with the answer's chunk as a passage."""
        best: Found | None = None
        for hit in self.reports[:MOST_REPORTS]:
            answer = answer_in(question, hit.document_id, f"{hit.filename} {hit.title}", self._read)
            if answer is None or (best is not None and best[0].score >= answer.score):
                continue
            start = answer.table.row_span(answer.cells[0][0])[0]
            chunk = next((each for each in self.ground.chunks(hit.document_id) if each.start <= start < each.end), None)
            if chunk is not None:
                placed = replace(
                    hit,
                    chunk_id=chunk.id,
                    text=chunk.text,
                    start=chunk.start,
                    end=chunk.end,
                    pages=chunk.pages,
                    headings=chunk.headings,
                    index=chunk.index,
                    metadata=chunk.metadata,
                    lines=chunk.lines,
                )
                best = (answer, passages_of([placed])[0])
        return best

    def _add_dates(self, document_id: str) -> str:
        """Return when a document was written: by its own date, its name, or its last ingestion."""
        (document,) = self.ground.documents(where=Condition("document_id", "eq", document_id)) or (None,)
        return "" if document is None else when_written(document)

    def _read(self, document_id: str, start: int, end: int) -> str:
        return self.ground.text(document_id, start, end)

    def _step(self, step: Step) -> Event:
        self.steps.append(step)
        self._note(_line(step))
        return Event("step", step=step)

    def _note(self, text: str) -> None:
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.log.append(f"{moment} {self.request_id} {' '.join(text.split())[:300]}")


def _line(step: Step) -> str:
    if step.type == "action":
        return f"{step.tool} {json.dumps(dict(step.tool_input or {}), ensure_ascii=False)}"
    return step.text or f"{step.tool} gave {len(str(step.tool_output))} characters"
