"""What of a model's text is a claim, and what claims are made of."""

from __future__ import annotations

import pytest

from footnotes.answer.citations import Cited, cite
from footnotes.answer.claims import claim_in, claims_in
from footnotes.answer.edits import edited
from footnotes.answer.extractive import ABSTENTION
from footnotes.answer.order import exchanged, opposite_in_place
from footnotes.answer.passages import passages_of
from footnotes.testing.hits import make_hit

SOURCE = (
    "Anna Berg hired Carl Lind in 1969 and paid 40 marks for 12 chairs. The workshop lends tools to members. "
    "If the repair is ordered, the estimate is free. The valve opens when the pressure is high. "
    "Call `app.add_route()` before `app.run()`; the option `max_size` limits the upload to 5 MB."
)


def cited(text: str, *, strict: bool = False) -> Cited:
    return cite(text, passages_of([make_hit(SOURCE, document="workshop.md")]), strict=strict)


def flagged(text: str) -> list[str]:
    result = cited(text)
    return [result.text[start:end] for start, end in result.unsupported]


@pytest.mark.parametrize(
    "opening",
    [
        "1. ", "2) ", "- ", "* ", "Yes, ", "Yes: ", "However, ", "In short, ", "According to the document, ",
        "**Answer:** ", "Therefore, ", "Step 3: ", "No, ", "> ", "Additionally, ", "3. **Rules**: ",
        "As the passage says, ",
    ],
)  # fmt: skip
def test_what_opens_a_sentence_is_no_part_of_its_claim(opening: str) -> None:
    for sentence in ("The workshop lends tools to members.", "Anna Berg hired Carl Lind in 1969."):
        result = cited(opening + sentence)
        assert not result.unsupported and len(result.citations) == 1
        assert result.text.endswith(sentence)


@pytest.mark.parametrize(
    "claim",
    [
        "Carl Lind hired Anna Berg in 1969 and paid 40 marks for 12 chairs.",
        "Anna Berg hired Carl Lind in 1969 and paid 12 marks for 40 chairs.",
        "The workshop lends members to tools.",
        "The valve closes when the pressure is high.",
        "The valve opens when the pressure is low.",
        "Call `app.run()` before `app.add_route()`.",
        "Call `app.add_path()` before `app.run()`.",
        "The option max_length limits the upload to 5 MB.",
        "The option `max_size` limits the upload to 5 GB.",
    ],
)
def test_a_sentence_with_two_things_exchanged_or_one_turned_is_flagged(claim: str) -> None:
    assert flagged(claim) == [claim]


@pytest.mark.parametrize(
    "claim",
    [
        "In 1969 Anna Berg hired Carl Lind.",
        "Carl Lind was hired by Anna Berg in 1969.",
        "The estimate is free if the repair is ordered.",
        "The option `max_size` limits the upload to 5 MB.",
        "Members can lend tools; the workshop lends tools to members.",
    ],
)
def test_an_honest_rewording_is_not_flagged(claim: str) -> None:
    assert flagged(claim) == []


def test_two_things_joined_by_and_may_stand_in_either_order() -> None:
    assert not exchanged("Bob and Alice won in 1990.", "Alice and Bob won in 1990.")
    assert exchanged("Bob beat Alice in 1990.", "Alice beat Bob in 1990.")


def test_an_opposite_counts_where_it_takes_the_place_of_its_opposite() -> None:
    assert opposite_in_place("The lake is shallow here.", "The lake is deep here.")
    assert not opposite_in_place("The shallow lake is deep here.", "The shallow lake is deep here.")
    assert not opposite_in_place("A deep lake has cold water.", "Its cold water is not shallow.")


MARKUP = """Here is what the documents say:

## Staff

1. **Hiring:** Anna Berg hired Carl Lind in 1969.
2. The workshop lends tools to members.

| who | when |
| --- | --- |
| Carl Lind | 1969 |

```python
app.run_forever()
```

I hope this helps!"""


def test_markup_is_no_claim_and_what_stands_in_it_is() -> None:
    result = cited(MARKUP)
    assert result.text == MARKUP and not result.unsupported
    claims = [MARKUP[start:end] for start, end, _, stated in claims_in(MARKUP) if stated]
    assert len(claims) == 3 and "| Carl Lind | 1969 |" in claims[-1]


def test_a_false_sentence_in_a_list_is_flagged_and_the_rest_stays() -> None:
    result = cited("1. Anna Berg hired Carl Lind in 1969.\n2. The workshop sells boats to members.")
    assert [result.text[start:end] for start, end in result.unsupported] == ["2. The workshop sells boats to members."]
    assert len(result.citations) == 1


def test_a_text_that_nothing_supports_stays_and_is_marked() -> None:
    text = "The moon is made of cheese. It costs 70 euros a slice."
    result = cited(text)
    assert result.text == text and not result.abstained and not result.citations
    assert [result.text[start:end] for start, end in result.unsupported] == text.split("  ") or len(
        result.unsupported
    ) == 2
    assert cited(text, strict=True).abstained and cited(text, strict=True).text == ABSTENTION


@pytest.mark.parametrize("text", [ABSTENTION, "The passages do not answer this question.", "I don't know."])
def test_a_model_that_says_it_does_not_know_abstains(text: str) -> None:
    result = cited(text)
    assert result.abstained and not result.unsupported and not result.citations


def test_a_claim_is_found_inside_its_markup() -> None:
    sentence = "2. **Yes**, the workshop lends tools."
    start, end = claim_in(sentence)
    assert sentence[start:end] == "the workshop lends tools."


@pytest.mark.parametrize(
    "claim",
    [
        "At his death the Sea of Japan stretched from the Caspian Sea to the Mongol Empire.",
        "At his death the Mongol Empire stretched to the Caspian Sea from the Sea of Japan.",
    ],
)
def test_parts_of_several_words_that_changed_places_are_noticed(claim: str) -> None:
    source = "At his death the Mongol Empire stretched from the Caspian Sea to the Sea of Japan."
    assert edited(claim, source)


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        ("Some members may vote before the meeting.", "Some members must vote before the meeting."),
        ("Some members may vote before the meeting.", "All members may vote before the meeting."),
        ("Some members may vote before the meeting.", "Some members may vote after the meeting."),
        ("The fee is due with the form or the key.", "The fee is due without the form or the key."),
        ("It is often called the first bridge.", "It is always called the first bridge."),
        ("The signal comes from the mast.", "The signal comes to the mast."),
    ],
)
def test_a_small_word_of_another_meaning_is_noticed(source: str, claim: str) -> None:
    assert edited(claim, source) and not edited(source, source)


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        ("Google acquired YouTube in 2006.", "YouTube was acquired by Google in 2006."),
        ("In 2006 Google acquired YouTube.", "Google acquired YouTube in 2006."),
        ("Alice and Bob won in 1990.", "Bob and Alice won in 1990."),
        ("Members may vote before the meeting.", "Members can vote before the meeting."),
        ("About 40 people came.", "Roughly 40 people came."),
        ("The estimate is free if the repair is ordered.", "When the repair is ordered, the estimate is free."),
    ],
)
def test_another_wording_is_no_edit(source: str, claim: str) -> None:
    assert not edited(claim, source)
