"""Answers a question from its hits with the configured model, as a stream of events or as one answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from footnotes.answer.align import Aligner
from footnotes.answer.citations import Cited, cite_with
from footnotes.answer.compose import compose_answer, nearest_passages
from footnotes.answer.context import Context, Count, ReadText, build_context
from footnotes.answer.decompose import parts_of, sides_of
from footnotes.answer.denial import yes_or_no
from footnotes.answer.disagree import Dated
from footnotes.answer.extractive import ABSTENTION, Embed, Extract, extract, extract_parts, extract_sides
from footnotes.answer.generate import Transcript, findings_of, is_better, repair_request
from footnotes.answer.models import ChatModel, ChatRequest, Message, add_usage, complete, estimate_usage
from footnotes.answer.models.table import ModelTokens, load_table, make_chat_model
from footnotes.answer.passages import Passage, passages_of
from footnotes.answer.prompt import answer_messages, load_template, split_template
from footnotes.answer.questions import form_of
from footnotes.answer.reader import Reader
from footnotes.answer.tables.found import Found, best_answer, formula_answer
from footnotes.answer.tables.write import write_table
from footnotes.answer.terms import DocumentFrequency
from footnotes.errors import (
    ConfigError,
    FootnotesError,
    ModelDamaged,
    OptionError,
    ProviderBadResponse,
    ProviderError,
)
from footnotes.remote import Deadline
from footnotes.settings import Settings
from footnotes.types import Answer, AnswerKind, Citation, Event, Hit, Leg, Step, Turn, Usage

EXTRACTIVE = "extractive"

LONGEST_REPLY = 200_000
"""A model that writes more characters than this counts as stuck."""
MARGIN_TOKENS = 64
"""Tokens kept free in a model's context for what its template adds around each message."""


def configured_model(settings: Settings) -> tuple[str, Callable[[], ChatModel]] | None:
    """Return the name of the configured model and how to open it; None if answers are extractive."""
    name = settings.model
    return None if name == EXTRACTIVE else (name, lambda: make_chat_model(name, settings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """A question and everything found for it."""

    question: str
    hits: tuple[Hit, ...]
    legs: Mapping[str, Leg]
    degraded: bool
    embed: Embed | None = None
    document_frequency: DocumentFrequency | None = None
    read: ReadText | None = None
    collection_prompt: str = ""
    before: tuple[Turn, ...] = ()  # the last question of the conversation and its answer
    steps: tuple[Step, ...] = ()
    usage: Usage = field(default_factory=Usage)
    request_id: str = ""
    parts: tuple[str, ...] = ()
    of_tables: str = ""  # the question for tables, if it differs
    reader: Reader | None = None
    dated: Dated | None = None
    report: Callable[[str], Found | None] | None = None  # searches all tables of a document the question names


class Answerer:
    """Answers from hits. Holds its settings and loaded models. Safe to use from several threads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        load_template(settings.prompt_template)  # report a broken one now, not with the first question
        self._models: dict[tuple[object, ...], ChatModel] = {}
        self._connected: dict[str, Callable[[Settings], ChatModel]] = {}
        self._tokens = ModelTokens()
        self._reader = Reader()
        self._guard = threading.Lock()

    def answer(
        self, question: str, hits: Sequence[Hit], *, settings: Settings | None = None, **found: object
    ) -> Answer:
        """Return an answer with its footnotes, or an abstention if the hits do not support one.

        `found` are the fields of `Findings`. If the model fails, the answer is extractive and says so; under `strict`
        it is an error.
        """
        return last_answer(self.stream(question, hits, settings=settings, **found))

    def stream(
        self, question: str, hits: Sequence[Hit], *, settings: Settings | None = None, **found: Any
    ) -> Iterator[Event]:
        """Yield `answer` in events as they happen; end with `done`, or with `error` and the partial answer."""
        chosen = settings or self._settings
        reader = self._reader if chosen.reader else None
        findings = Findings(question=question, hits=tuple(hits), reader=reader, **found)
        began = time.perf_counter()
        yield Event("hits", hits=findings.hits)
        for event in self._events(findings, chosen):
            if event.answer is not None:
                took = round((time.perf_counter() - began) * 1000, 3)
                usage = self._price(event.answer.usage, chosen)
                event = replace(event, answer=replace(event.answer, took_ms=took, usage=usage))
            elif event.usage is not None:
                event = replace(event, usage=self._price(event.usage, chosen))
            yield event

    def _price(self, usage: Usage, chosen: Settings) -> Usage:
        model = self.model(chosen) if usage.model_calls else None
        return usage if model is None else load_table(chosen.models_file).priced(model.name, usage)

    def model(self, settings: Settings | None = None) -> ChatModel | None:
        """Return the chat model of the settings, loaded once; None if answers are extractive."""
        chosen = settings or self._settings
        if chosen.model == EXTRACTIVE:
            return None
        key = (chosen.model, chosen.context_tokens, chosen.model_timeout)
        with self._guard:
            if key not in self._models:
                made = self._connected.get(chosen.model)
                self._models[key] = made(chosen) if made else make_chat_model(chosen.model, chosen)
            return self._models[key]

    def connect(self, name: str, make: Callable[[Settings], ChatModel]) -> None:
        """Register a name for a model that no settings name. A name never changes its model."""
        with self._guard:
            self._connected.setdefault(name, make)

    def close(self) -> None:
        """Close the models."""
        with self._guard:
            for model in self._models.values():
                if callable(close := getattr(model, "close", None)):
                    close()
            self._models.clear()

    def _events(self, findings: Findings, settings: Settings) -> Iterator[Event]:
        if settings.model == EXTRACTIVE:
            yield from extractive_events(findings, settings)
            return
        try:
            model = self.model(settings)
            assert model is not None
            yield from generate_events(findings, settings, model, self._tokens)
        except ConfigError:
            raise
        except FootnotesError as error:
            if settings.strict:
                raise
            yield from extractive_events(without_model(findings, settings.model, error), settings)


def last_answer(events: Iterator[Event]) -> Answer:
    """Return the answer at the end of a stream of events."""
    answer = None
    for event in events:
        answer = event.answer or answer
    assert answer is not None, "every stream ends in an answer"
    return answer


# ── without a model ──────────────────────────────────────────────────────────────────────────────────────


def extractive_events(findings: Findings, settings: Settings) -> Iterator[Event]:
    """Yield the best sentences of the hits, else the nearest passages; under `strict` only the sentences."""
    findings = _with_loaded_reader(findings, "chooser")
    extracted = _extract(findings, settings)
    kind: AnswerKind = "answer" if extracted.sentences else "nothing"
    form = form_of(findings.question)
    text, citations = compose_answer(extracted, form, findings.read, _build_opening(findings, extracted))
    if found := _from_tables(findings, extracted):
        kind, (text, citations) = "answer", write_table(*found)
        findings = replace(findings, hits=_with_those_of(found[1], findings.hits))
    elif not (extracted.sentences or settings.strict) and (near := nearest_passages(extracted, form, findings.read)):
        kind, (text, citations) = "passages", near
    yield from _events_of(text, citations)
    abstained = kind != "answer"
    answer = answer_of(findings, model=EXTRACTIVE, answer=text, kind=kind, abstained=abstained, citations=citations)
    yield Event("usage", usage=answer.usage)
    yield Event("done", answer=answer)


def _events_of(text: str, citations: Sequence[Citation]) -> Iterator[Event]:
    """Yield a complete text as a stream, with every footnote right after the text it supports."""
    begin = 0
    for citation in citations:
        yield Event("token", text=text[begin : citation.answer_span[1]])
        yield Event("citation", citation=citation)
        begin = citation.answer_span[1]
    if begin < len(text):
        yield Event("token", text=text[begin:])


def _extract(findings: Findings, settings: Settings) -> Extract:
    limit, frequency = settings.answer_sentences, findings.document_frequency
    reader = findings.reader
    if sides := sides_of(findings.question):
        return extract_sides(findings.question, sides, findings.hits, document_frequency=frequency, reader=reader)
    parts = findings.parts or parts_of(findings.question)
    if len(parts) > 1:
        return extract_parts(parts, findings.hits, limit=limit, document_frequency=frequency, reader=reader)
    embed = findings.embed if settings.answer_vectors else None
    return extract(
        findings.question,
        findings.hits,
        limit=limit,
        embed=embed,
        document_frequency=frequency,
        reader=reader,
        dated=findings.dated,
    )


def _build_opening(findings: Findings, extracted: Extract) -> str:
    """Return `Yes: ` or `No: ` if the question asks for that and the best sentence says it."""
    if not extracted.sentences or extracted.disagree or findings.reader is None:
        return ""
    try:
        return yes_or_no(findings.question, extracted.sentences[0][0].text, findings.reader)
    except ModelDamaged:  # only the verifier is damaged: say nothing that it would have to check
        return ""


TABLE_SURE, TABLE_ALONE = 0.9, 0.75
"""The share of a question that a row and its column must cover to replace a sentence, and to answer without one."""


def _with_those_of(passage: Passage, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Return the hits, plus those behind a table that no search found."""
    known = {hit.chunk_id for hit in hits}
    return hits + tuple(hit for hit in passage.hits if hit.chunk_id not in known)


def _from_tables(findings: Findings, extracted: Extract) -> Found | None:
    """Answer from a table of the hits, if it covers more of the question than the best sentence."""
    passages = passages_of(findings.hits)
    asked = findings.of_tables or findings.question
    found = best_answer(asked, passages, findings.read)
    parts = parts_of(asked)
    if len(parts) > 1 and (found is None or found[0].score < TABLE_SURE):
        first = best_answer(parts[0], passages, findings.read)  # the first part names the subject of all
        found = max(filter(None, (found, first)), key=lambda each: each[0].score, default=None)
    if findings.report is not None and (found is None or found[0].score < TABLE_SURE):
        found = findings.report(asked) or found
    alone = not extracted.sentences or not _is_sentence(extracted.sentences[0][0].text)
    if found is None or found[0].score < (TABLE_ALONE if alone else TABLE_SURE):
        return None
    return found


def _is_sentence(text: str) -> bool:
    """Return whether a text ends like a sentence, so is no row or heading that was read as one."""
    return "\t" not in text and " | " not in text and text.rstrip("\"'”’)*_ ").endswith((".", "!", ":", "。"))


def _with_loaded_reader(findings: Findings, name: str) -> Findings:
    """Remove a reader that cannot be loaded from the findings, and add the reason."""
    if findings.reader is None or not findings.hits:
        return findings
    try:
        findings.reader.load(name)
    except ModelDamaged as error:
        legs = {**findings.legs, "reader": Leg("failed", f"{error.message} ({error.code})")}
        return replace(findings, reader=None, legs=legs, degraded=True)
    return findings


def without_model(findings: Findings, model: str, error: FootnotesError) -> Findings:
    """Add the reason why the model does not answer to the findings."""
    reason = f"{error.message} ({error.code})"
    step = Step("thought", f"{model} failed, so the answer is made of the documents' own sentences: {reason}")
    legs = {**findings.legs, "model": Leg("failed", reason)}
    return replace(findings, legs=legs, degraded=True, steps=(*findings.steps, step))


def answer_of(findings: Findings, **changes: object) -> Answer:
    """Build an answer that already holds everything found."""
    fields: dict[str, Any] = {
        "question": findings.question,
        "hits": findings.hits,
        "usage": findings.usage,
        "steps": findings.steps,
        "legs": findings.legs,
        "degraded": findings.degraded,
        "request_id": findings.request_id,
    }
    return Answer(**(fields | changes))


# ── with a model ─────────────────────────────────────────────────────────────────────────────────────────


def generate_events(findings: Findings, settings: Settings, model: ChatModel, tokens: ModelTokens) -> Iterator[Event]:
    """Yield the model's answer, every sentence checked. Fails before the first word, or ends incomplete after it."""
    template = load_template(settings.prompt_template)
    context = fit_context(findings, settings, model, template, tokens.counter(model.name))
    if not context.passages and findings.hits:
        raise OptionError(
            f"no passage fits into the {model.context_tokens:,} tokens that {model.name} reads, "
            f"of which {settings.max_tokens:,} are kept for its answer",
            remedy="Lower max_tokens, or use a model that reads more.",
        )
    if not context.passages:
        yield from abstention_events(findings, model.name)
        return
    if note := context.note():
        step = Step("thought", f"Left out of the context: {note}.")
        findings = replace(findings, steps=(*findings.steps, step))
        yield Event("step", step=step)
    if settings.formulas:
        findings, found = _from_formula(findings, settings, model, context.passages)
        if found is not None:
            yield from formula_events(findings, model.name, found)
            return
    request = chat_request(findings, settings, context, template)
    findings = _with_loaded_reader(findings, "verifier")
    aligner = Aligner(context.passages, findings.question, findings.reader)
    if settings.repair:
        yield from repair_events(findings, settings, model, request, aligner)
        return
    transcript = Transcript(aligner, strict=settings.strict)
    usage, broken, finish = None, None, None
    try:
        for piece in model.chat(request, deadline=Deadline(settings.answer_seconds)):
            usage, finish = piece.usage or usage, piece.finish or finish
            if piece.text:
                yield from transcript.add(piece.text)
            if transcript.circles:
                break
            if len(transcript.raw) > LONGEST_REPLY:
                raise ProviderBadResponse(f"{model.name} did not stop writing")
    except ProviderError as error:
        if not transcript.raw:
            raise
        broken = error
    _check_written(transcript.raw, model.name, is_cut=finish == "length")
    yield from transcript.finish()
    if transcript.circles:
        step = Step("thought", f"{model.name} went on repeating itself and was stopped.")
        findings = replace(findings, steps=(*findings.steps, step))
        yield Event("step", step=step)
    if usage:
        tokens.learn(model.name, request, usage)
    spent = add_usage(findings.usage, usage or estimate_usage(request, transcript.raw))
    answer = build_answer(
        findings, cite_with(aligner, transcript.raw, strict=settings.strict), model.name, spent, request
    )
    yield Event("usage", usage=spent)
    yield end_event(replace(answer, incomplete=finish == "length" or transcript.circles), broken)


def _from_formula(
    findings: Findings, settings: Settings, model: ChatModel, passages: Sequence[Passage]
) -> tuple[Findings, Found | None]:
    """Answer from a table by rule if that is sure, else by a formula that the model writes. Add its cost."""
    found = best_answer(findings.question, passages, findings.read)
    if found is not None and found[0].formula and found[0].score >= TABLE_SURE:
        return findings, found
    spent = findings.usage

    def ask(system: str, user: str) -> str:
        nonlocal spent
        messages = (Message("system", system), Message("user", user))
        reply = complete(model, build_request(messages, settings), deadline=Deadline(settings.answer_seconds))
        spent = add_usage(spent, reply.usage)
        return reply.text

    found = formula_answer(findings.question, passages, findings.read, ask)
    return replace(findings, usage=spent), found


def formula_events(findings: Findings, model: str, found: Found) -> Iterator[Event]:
    """Yield the result computed from a table, with a footnote for every operand."""
    text, citations = write_table(*found)
    yield from _events_of(text, citations)
    yield Event("usage", usage=findings.usage)
    answer = answer_of(findings, model=model, answer=text, kind="answer", abstained=False, citations=citations)
    yield Event("done", answer=answer)


def repair_events(
    findings: Findings, settings: Settings, model: ChatModel, request: ChatRequest, aligner: Aligner
) -> Iterator[Event]:
    """Yield the model's answer once it is final; it is rewritten if sentences of the first are not supported."""
    deadline = Deadline(settings.answer_seconds)
    reply = complete(model, request, deadline=deadline)
    _check_written(reply.text, model.name, is_cut=reply.cut)
    spent = add_usage(findings.usage, reply.usage)
    cited, said = cite_with(aligner, reply.text, strict=settings.strict), reply.text
    if doubted := findings_of(cited):
        step = Step("thought", f"Not supported, so {model.name} was asked to write it again: {' '.join(doubted)[:300]}")
        findings = replace(findings, steps=(*findings.steps, step))
        yield Event("step", step=step)
        try:
            second = complete(model, repair_request(request, reply.text, cited), deadline=deadline)
        except ProviderError as error:
            findings = replace(findings, legs={**findings.legs, "repair": Leg("failed", error.message)})
        else:
            spent = add_usage(spent, second.usage)
            again = cite_with(aligner, second.text, strict=settings.strict)
            cited, said = (again, second.text) if is_better(again, cited) else (cited, said)
    transcript = Transcript(aligner, strict=settings.strict)
    yield from transcript.add(said)
    yield from transcript.finish()
    yield Event("usage", usage=spent)
    yield end_event(build_answer(findings, cited, model.name, spent, request), None)


def _check_written(text: str, model: str, *, is_cut: bool) -> None:
    """Raise if the model wrote nothing: that is a failure, and says nothing about the documents."""
    if text.strip():
        return
    if is_cut:
        raise ProviderBadResponse(
            f"{model} had used up its tokens before the first word of an answer", remedy="Raise max_tokens."
        )
    raise ProviderBadResponse(f"{model} answered without a word", remedy="Try again, or use another model.")


def end_event(answer: Answer, broken: FootnotesError | None) -> Event:
    """Return the last event: the answer, or the error with the partial answer."""
    if broken is None:
        return Event("done", answer=answer)
    legs = {**answer.legs, "model": Leg("failed", broken.message)}
    return Event("error", error=broken.info(), answer=replace(answer, incomplete=True, degraded=True, legs=legs))


def build_answer(findings: Findings, cited: Cited, model: str, usage: Usage, request: ChatRequest) -> Answer:
    """Build the answer from the model's text and the footnotes that our own code found for it."""
    return answer_of(
        findings,
        model=model,
        answer=cited.text,
        kind="nothing" if cited.abstained else "answer",
        abstained=cited.abstained,
        citations=cited.citations,
        unsupported=cited.unsupported,
        uncertain=cited.uncertain,
        usage=usage,
        prompt=prompt_text(request),
    )


def abstention_events(findings: Findings, model: str) -> Iterator[Event]:
    yield Event("token", text=ABSTENTION)
    yield Event(
        "done", answer=answer_of(findings, model=model, answer=ABSTENTION, kind="nothing", abstained=True, citations=())
    )


def fit_context(findings: Findings, settings: Settings, model: ChatModel, template: str, count: Count) -> Context:
    """Return the passages that fit beside the template, the question and the answer, in the model's own tokens."""
    said = (turn.text for turn in findings.before)
    fixed = "".join((*split_template(template), findings.question, findings.collection_prompt, *said))
    budget = model.context_tokens - settings.max_tokens - count(fixed) - MARGIN_TOKENS
    return build_context(findings.hits, budget=budget, count=count, read=findings.read)


def chat_request(findings: Findings, settings: Settings, context: Context, template: str) -> ChatRequest:
    messages = answer_messages(
        template,
        findings.question,
        context,
        collection_prompt=findings.collection_prompt,
        before=findings.before,
    )
    return build_request(messages, settings)


def build_request(messages: Sequence[Message], settings: Settings) -> ChatRequest:
    """Build a request with the temperature, limits and seed of the settings."""
    return ChatRequest(
        messages=tuple(messages),
        temperature=settings.temperature if settings.temperature >= 0 else None,
        max_tokens=settings.max_tokens,
        stop=settings.stop,
        seed=settings.seed if settings.seed >= 0 else None,
    )


def prompt_text(request: ChatRequest) -> str:
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in request.messages)
