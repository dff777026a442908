from __future__ import annotations

from pathlib import Path

from footnotes.evaluate.make import make_golden
from footnotes.evaluate.run import evaluate
from footnotes.library import Library
from golden_sample import DOCUMENTS
from libraries import quick_library, write


def test_questions_are_spread_over_documents_and_name_their_sentence(library: Library) -> None:
    made = make_golden(library, 4)
    assert len(made) == 4
    assert {name for question in made[:3] for name in question.documents} == set(DOCUMENTS)
    for question in made:
        (name,) = question.documents
        assert question.passages[0] in DOCUMENTS[name]
    assert len({question.text for question in made}) == 4


def test_what_is_made_can_be_evaluated(library: Library) -> None:
    assert evaluate(library, make_golden(library, 3)).means["recall@5"] == 1


def test_there_are_no_more_questions_than_sentences(library: Library) -> None:
    assert 3 <= len(make_golden(library, 500)) < 10


def test_a_chat_model_writes_them_and_the_rule_where_it_does_not(library: Library) -> None:
    asked: list[str] = []

    def say(system: str, user: str) -> str:
        asked.append(user)
        return 'Question: "How much is it?"\nSome more.' if "rent" in user else "I cannot do that."

    made = make_golden(library, 3, say=say)
    assert len(asked) == 3
    of_lease = [question.text for question in made if "lease.md" in question.documents]
    assert of_lease == ["How much is it?"]
    assert all(len(question.text.split()) > 2 for question in made)


def test_questions_are_made_of_telling_words_in_any_language(tmp_path: Path) -> None:
    german = (
        "# Kündigung\n\nDas Mietverhältnis kann von beiden Seiten mit einer Frist von drei Monaten gekündigt werden.\n"
    )
    chinese = "# 咖啡机\n\n红灯闪烁说明水箱没有水，请先加水然后重新启动机器。\n"
    with quick_library(tmp_path / "library") as library:
        library.add(write(tmp_path / "texts", german_md=german, chinese_md=chinese))
        made = {name: question.text for question in make_golden(library, 2) for name in question.documents}
    assert "Mietverhältnis" in made["german.md"] and " Das" not in made["german.md"]
    assert "水" in made["chinese.md"]
