"""Thinks, searches, reads and decides, to gather what a question needs before it is answered.

A model that supports tools gets them; others write their actions as JSON; without a model, rules split the question.
All three run the same loop, stop at the same budget, and leave the answer to the same code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from footnotes.answer.decompose import follow_up, parts_of
from footnotes.answer.extractive import extract
from footnotes.answer.models import ChatModel, ChatRequest, Message, Reply, ToolCall, add_usage, complete
from footnotes.answer.prompt import escape, load_packaged_template
from footnotes.answer.tools import FINISH, SEARCH, TOOLS, LibraryReader, Result, call_tool, pool
from footnotes.errors import ProviderError, ProviderRefused
from footnotes.remote import Deadline
from footnotes.types import Event, Hit, Leg, SearchResult, Step, Usage

MAX_TOKENS = 300
MISTAKES = 2
"""Replies without an action in a row before the agent stops and uses what it has."""
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of an agent."""

    steps: int = 6
    tokens: int = 50_000
    seconds: float = 120.0


@dataclass
class AgentState:
    """The steps and findings of an agent so far."""

    hits: list[Hit] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    legs: dict[str, Leg] = field(default_factory=dict)
    degraded: bool = False

    def found(self, result: Result) -> None:
        self.hits.extend(result.hits)
        if isinstance(result.found, SearchResult):
            self.legs = {**self.legs, **result.found.legs}
            self.degraded = self.degraded or result.found.degraded

    def best(self, limit: int) -> tuple[Hit, ...]:
        return tuple(pool(self.hits)[:limit])


class Agent:
    """Runs one question. `events` yields the steps as they happen; `gathered` holds the outcome."""

    def __init__(self, library: LibraryReader, budget: Budget, model: ChatModel | None = None) -> None:
        self._shelf, self._budget, self._model = library, budget, model
        self._deadline = Deadline(budget.seconds)
        self._tools = model is not None and model.calls_tools
        self.gathered = AgentState()

    def events(self, question: str) -> Iterator[Event]:
        """Yield the steps as they happen. If the model fails, rules do the rest."""
        if self._model is None:
            yield from self._by_rule(question)
            return
        try:
            yield from self._with_model(question, self._model)
        except ProviderError as error:
            self.gathered.legs["model"] = Leg("failed", f"{error.message} ({error.code})")
            self.gathered.degraded = True
            yield self._thought(f"The model failed ({error.message}); going on by rule.")
            yield from self._by_rule(question)

    def _with_model(self, question: str, model: ChatModel) -> Iterator[Event]:
        try:
            yield from self._by_model(question, model)
        except ProviderRefused as error:
            # A server may reject tools although its kind of server usually accepts them.
            if not self._tools or self.gathered.usage.model_calls:
                raise
            self._tools = False
            yield self._thought(f"Tools were refused ({error.message}); going on by text.")
            yield from self._by_model(question, model)
        if not self.gathered.hits:
            yield from self._act(SEARCH.name, {"query": question})

    # ── by rule

    def _by_rule(self, question: str) -> Iterator[Event]:
        """Search for each part, then once more with the names in the best sentence."""
        parts = parts_of(question)
        if len(parts) > 1:
            yield self._thought("The question has several parts: " + " | ".join(parts))
        for part in parts:
            if self._over():
                break
            yield from self._act(SEARCH.name, {"query": part})
            found = extract(part, self.gathered.best(6), limit=1)
            if found.sentences and not self._over() and (further := follow_up(part, found.sentences[0][0].text)):
                yield self._thought(f"Found: {found.sentences[0][0].text}")
                yield from self._act(SEARCH.name, {"query": further})

    # ── by model

    def _by_model(self, question: str, model: ChatModel) -> Iterator[Event]:
        messages = [Message("system", self._instructions()), Message("user", f"Question: {escape(question)}")]
        mistakes = 0
        while not self._over():
            reply = self._ask(messages, model)
            calls, thought = read_reply(reply)
            if thought:
                yield self._thought(thought)
            if any(call.name == FINISH.name for call in calls):
                return
            mistakes = 0 if calls else mistakes + 1
            if mistakes == MISTAKES:
                break
            messages.append(Message("assistant", reply.text, tool_calls=reply.tool_calls))
            yield from self._stream_answer(calls, reply, messages)
        if self._over():
            yield self._thought("The budget is used up; answering with what was found.")

    def _stream_answer(self, calls: list[ToolCall], reply: Reply, messages: list[Message]) -> Iterator[Event]:
        """Run the calls and send the model their results."""
        if not calls:
            messages.append(Message("user", "That was no action." + load_packaged_template("agent_text.txt")))
        for call in calls:
            if self._over():
                return
            yield from self._act(call.name, call.arguments)
            output = str(self.gathered.steps[-1].tool_output)
            if reply.tool_calls:
                messages.append(Message("tool", output, tool_call_id=call.id))
            else:
                messages.append(Message("user", f"Result of {call.name}:\n{output}"))

    def _instructions(self) -> str:
        template = load_packaged_template("agent.txt")
        return template if self._tools else template + load_packaged_template("agent_text.txt")

    def _ask(self, messages: list[Message], model: ChatModel) -> Reply:
        tools = TOOLS if self._tools else ()
        request = ChatRequest(messages=tuple(messages), temperature=0.0, max_tokens=MAX_TOKENS, tools=tools)
        reply = complete(model, request, deadline=self._deadline)
        self.gathered.usage = add_usage(self.gathered.usage, reply.usage)
        return reply

    # ── both

    def _act(self, tool: str, given: Mapping[str, Any]) -> Iterator[Event]:
        action = Step("action", tool=tool, tool_input=dict(given))
        self.gathered.steps.append(action)
        yield Event("step", step=action)
        result = call_tool(self._shelf, tool, given)
        self.gathered.found(result)
        outcome = Step("tool_result", tool=tool, tool_output=result.text)
        self.gathered.steps.append(outcome)
        yield Event("step", step=outcome)

    def _thought(self, text: str) -> Event:
        step = Step("thought", text)
        self.gathered.steps.append(step)
        return Event("step", step=step)

    def _over(self) -> bool:
        """Return whether steps, tokens or time are used up."""
        usage = self.gathered.usage
        taken = sum(step.type == "action" for step in self.gathered.steps)
        spent = usage.prompt_tokens + usage.completion_tokens
        return taken >= self._budget.steps or spent >= self._budget.tokens or self._deadline.over


def read_reply(reply: Reply) -> tuple[list[ToolCall], str]:
    """Return the actions and the thought in a reply, from tool calls or from JSON in its text."""
    if reply.tool_calls:
        return list(reply.tool_calls), reply.text.strip()
    match = _OBJECT.search(reply.text)
    parsed = _json(match[0]) if match else None
    if not isinstance(parsed, dict) or not isinstance(action := parsed.get("action"), str):
        return [], reply.text.strip()[:500]
    given = parsed.get("input")
    thought = parsed.get("thought")
    call = ToolCall("", action.strip(), given if isinstance(given, dict) else {})
    return [call], thought.strip() if isinstance(thought, str) else ""


def _json(text: str) -> Any:
    """Parse the first JSON value in a text; ignore what follows."""
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None
