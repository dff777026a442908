"""Print answers as they arrive: words, markers, then footnotes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from footnotes.cli.printing import wrap_lines
from footnotes.render import distinct_footnotes, footnote_line, notes_on, one_line, printable, shortened
from footnotes.types import Answer, Citation, Event, Step

HELD = 48
"""Characters held back until the marker of their sentence is known."""

Write = Callable[[str], None]


class StreamedAnswer:
    """Prints the events of one answer."""

    def __init__(self, write: Write, dim: Write) -> None:
        self._write, self._dim = write, dim
        self._text = ""
        self._written = 0
        self._marks: dict[int, list[str]] = {}
        self.answer: Answer | None = None

    def show(self, events: Iterable[Event]) -> Answer:
        """Print all events; return the answer."""
        for event in events:
            if event.step is not None:
                self._dim(step_line(event.step) + "\n")
            if event.text:
                self._text += event.text
                self._flush(len(self._text) - HELD)
            if event.citation is not None:
                self._mark(event.citation)
            self.answer = event.answer or self.answer
        assert self.answer is not None, "every stream ends in an answer"
        self._end(self.answer)
        return self.answer

    def _mark(self, citation: Citation) -> None:
        start, end = citation.answer_span
        place = start + len(self._text[start:end].rstrip())
        marks = self._marks.setdefault(place, [])
        if (mark := f"[{citation.marker}]") not in marks:
            marks.append(mark)

    def _flush(self, until: int) -> None:
        """Print the text up to a position, with its marks."""
        for place in sorted(place for place in self._marks if self._written <= place <= until):
            self._write(printable(self._text[self._written : place]) + " " + "".join(self._marks.pop(place)))
            self._written = place
        if until > self._written:
            self._write(printable(self._text[self._written : until]))
            self._written = until

    def _end(self, answer: Answer) -> None:
        self._flush(len(self._text))
        if answer.abstained and self._text != answer.answer:
            self._write(("\n" if self._text else "") + answer.answer)
        self._write("\n")
        if footnotes := [footnote_line(citation) for citation in distinct_footnotes(answer.citations)]:
            self._write("\n" + wrap_lines("\n".join(footnotes)) + "\n")
        notes = [
            f"[?] Nothing in the documents supports: “{shortened(answer.answer[a:b])}”" for a, b in answer.unsupported
        ]
        notes += [f"[~] Not certain: “{shortened(answer.answer[a:b])}”" for a, b in answer.uncertain]
        notes += [note for note in notes_on(answer) if not note.startswith(("[?]", "[~]"))]
        if notes:
            self._write("\n" + wrap_lines("\n".join(notes)) + "\n")


def step_line(step: Step) -> str:
    """Format one step of an answer as one line."""
    if step.type == "action":
        given = ", ".join(f"{name}={value!r}" for name, value in (step.tool_input or {}).items())
        return one_line(f"→ {step.tool}({given})")
    if step.type == "tool_result":
        return "  " + shortened(str(step.tool_output), 100)
    return "· " + shortened(step.text, 200)
