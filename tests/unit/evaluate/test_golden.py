from __future__ import annotations

import json
from pathlib import Path

import pytest

from footnotes.errors import GoldenError
from footnotes.evaluate.golden import Question, read_golden, write_golden

QUESTIONS = [
    Question("1", "How long?", {"a.md": 1}, ("three months",), (("a.md", 3, 9),), "Three months."),
    Question("2", "Größe?", {"a.md": 2, "b.md": 1}),
    Question("3", "Unknown?", answerable=False),
]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    assert write_golden(path, QUESTIONS) == 3
    assert read_golden(path) == QUESTIONS


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "golden.csv"
    path.write_text(
        "\ufeffquestion,documents,passages,answer,answerable,spans\n"
        'How long?,a.md|b.md,three months,,true,"[{""document"": ""a.md"", ""start"": 1, ""end"": 2}]"\n'
        '"Who, then?",,,,no,\n',
        encoding="utf-8",
    )
    first, second = read_golden(path)
    assert first.documents == {"a.md": 1, "b.md": 1}
    assert first.passages == ("three months",)
    assert first.spans == (("a.md", 1, 2),)
    assert (second.text, second.answerable) == ("Who, then?", False)


@pytest.mark.parametrize("name", ["qrels.tsv", "qrels/test.tsv"])
def test_a_beir_folder_gives_its_judged_questions(tmp_path: Path, name: str) -> None:
    lines = [{"_id": "q1", "text": "one"}, {"_id": "q2", "text": "two"}, {"_id": "q3", "text": "three"}]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq3\td1\t0\n")
    (question,) = read_golden(tmp_path)
    assert (question.id, question.text, question.documents) == ("q1", "one", {"d1": 2, "d2": 0})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no questions"),
        ("not json", "golden.jsonl:1 is not JSON"),
        ("[1]", "not a JSON object"),
        ('{"documents": ["a"]}', "has no question"),
        ('{"question": "x", "spans": [{"document": "a"}]}', "wrong shape"),
        ('{"question": "x", "documents": 5}', "wrong shape"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_text(content)
    with pytest.raises(GoldenError, match=said):
        read_golden(path)


def test_spans_of_a_csv_that_are_not_json_are_named(tmp_path: Path) -> None:
    path = tmp_path / "golden.csv"
    path.write_text('question,spans\nhello,"[{"\n')
    with pytest.raises(GoldenError, match=r"golden\.csv:2 is not JSON"):
        read_golden(path)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(GoldenError, match="no golden set"):
        read_golden(tmp_path / "none.jsonl")
    with pytest.raises(GoldenError, match=r"neither qrels\.tsv"):
        read_golden(tmp_path)
