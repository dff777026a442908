"""What reranking by late interaction gains, and what it costs.

    python benchmarks/rerank.py [--questions 200] [--sets cranfield xquad]

The same questions with and without the reranker `late` over the best thirty hits; paired, with its confidence interval.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from labelled import DATA, xquad

from footnotes.evaluate.compare import compare
from footnotes.evaluate.golden import Question, read_golden
from footnotes.evaluate.run import Options, evaluate
from footnotes.library import Library
from footnotes.settings import Settings

MEASURES = ("ndcg@10", "mrr@10")


def corpus(name: str, folder: Path) -> list[Question]:
    """The files of a set, written to a folder, and its questions."""
    if name == "xquad":
        sources, cases = xquad()
        for source in sources:
            (folder / source.name).write_text(source.text, encoding="utf-8")
        return [Question(str(number), case.question, {case.source: 1}) for number, case in enumerate(cases)]
    data = DATA / "retrieval" / name
    for line in (data / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        (folder / f"{document['_id']}.md").write_text(
            f"# {document['title']}\n\n{document['text'] or ' '}", encoding="utf-8"
        )
    return list(read_golden(data))


def rows(name: str, limit: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        documents = Path(folder) / "documents"
        documents.mkdir()
        questions = corpus(name, documents)
        questions = questions[:: max(1, len(questions) // limit)][:limit]
        with Library(Path(folder) / "library", settings=Settings(rerank_seconds=60.0)) as library:
            library.add(documents)
            library.settle()
            plain = evaluate(library, questions)
            late = evaluate(library, questions, options=Options(reranker="late"))
    milliseconds = sorted(outcome.milliseconds for outcome in late.outcomes)[len(late.outcomes) // 2]
    for measure in MEASURES:
        if measure in plain.means:
            found = compare(plain.values(measure), late.values(measure))
            yield (
                f"| {name} {measure} | {plain.means[measure]:.4f} | {late.means[measure]:.4f} | {found.difference:+.4f}"
                f" [{found.low:+.4f}, {found.high:+.4f}] | {milliseconds:.0f} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--sets", nargs="*", default=["xquad", "cranfield"])
    options = parser.parse_args()
    print("| set | fused | late | difference | median ms |\n| --- | --- | --- | --- | --- |")
    for name in options.sets:
        for row in rows(name, options.questions):
            print(row, flush=True)


if __name__ == "__main__":
    main()
