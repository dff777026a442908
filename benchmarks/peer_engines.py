"""One engine of `peers.py`, in a process and an environment of its own: takes texts in, searches, deletes.

    python benchmarks/peer_engines.py ENGINE ingest|search|rank|delete|count|embed WORK FOLDER

WORK has what all engines are given: files of texts, questions, and either a table of vectors or the path of a model in
`model`; FOLDER is the engine's own. Says what it measured as one line of JSON. Imports nothing of Footnotes but in its
own adapter.
"""

from __future__ import annotations

import hashlib
import json
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

LIMIT, BATCH = 10, 1_000


class Given:
    """The texts, questions and vectors.

    Without a model a text's vector is found by its hash. With one, sentence-transformers embeds the texts for all
    engines but Footnotes, which has its own embedder; `keep_vectors` does it once for all of them, so that a later
    ingest costs no model.
    """

    def __init__(self, work: Path) -> None:
        self.files = sorted((work / "texts").iterdir())
        self.questions: list[str] = json.loads((work / "questions.json").read_text())
        self._work, self._model = work, None
        self.has_model = (work / "model").exists()
        kept = (work / "rows.json", work / "vectors.npy")
        self._rows: dict[str, int] = json.loads(kept[0].read_text()) if kept[0].exists() else {}
        self.table: Any = np.load(kept[1]) if kept[1].exists() else None

    def vectors(self, texts: Sequence[str]) -> Any:
        if self._rows:
            return self.table[[self._rows[text] for text in texts]]
        if self.has_model:
            return self._embed(texts)
        digests = (hashlib.blake2b(text.encode(), digest_size=4).digest() for text in texts)
        return self.table[[int.from_bytes(digest, "little") % len(self.table) for digest in digests]]

    def keep_vectors(self) -> None:
        texts = [*(file.read_text(encoding="utf-8") for file in self.files), *self.questions]
        np.save(self._work / "vectors.npy", self._embed(texts))
        (self._work / "rows.json").write_text(json.dumps({text: row for row, text in enumerate(texts)}))

    def _embed(self, texts: Sequence[str]) -> Any:
        if self._model is None:
            from sentence_transformers import SentenceTransformer

            self._model = SentenceTransformer((self._work / "model").read_text(), device="cpu")
        return self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)

    def batches(self) -> Iterator[tuple[list[str], list[str]]]:
        for start in range(0, len(self.files), BATCH):
            files = self.files[start : start + BATCH]
            yield [file.stem for file in files], [file.read_text(encoding="utf-8") for file in files]


class _GivenVectors:
    """An embedder that costs nothing."""

    name, fingerprint, max_tokens = "given:vectors", "given-1", 0

    def __init__(self, given: Given) -> None:
        self._given = given
        self.dimensions = given.table.shape[1]

    def embed(self, texts: Sequence[str], *, role: str) -> Any:
        return self._given.vectors(texts)


class Footnotes:
    """Files on disk through parser, chunker, durable store and both indexes."""

    package, kind = "footnotes", "hybrid"

    def __init__(self, folder: Path, given: Given) -> None:
        from footnotes import Library

        self._given = given
        self._library = Library(folder) if given.has_model else Library(folder, embedder=_GivenVectors(given))

    def load_model(self) -> None:
        self._library.add_text("The model is loaded by this text.", filename="first.txt")

    def ingest(self) -> None:
        self._library.add(self._given.files[0].parent)

    def search(self, question: str) -> list[str]:
        return [Path(hit.filename).stem for hit in self._library.search(question, limit=LIMIT).hits]

    def delete(self, name: str) -> None:
        self._library.delete(*(one.id for one in self._library.documents(where={"filename": f"{name}.txt"})))

    def count(self) -> int:
        return len(self._library.documents())

    def close(self) -> None:
        self._library.close()


class LanceDB:
    """A table with vectors and a full-text index, searched as `hybrid`."""

    package, kind = "lancedb", "hybrid"

    def __init__(self, folder: Path, given: Given) -> None:
        import lancedb

        self._given, self._database = given, lancedb.connect(str(folder))
        self._table: Any = self._database.open_table("texts") if folder.exists() and any(folder.iterdir()) else None

    def ingest(self) -> None:
        for names, texts in self._given.batches():
            vectors = self._given.vectors(texts).tolist()
            columns = zip(names, texts, vectors, strict=True)
            rows = [{"id": name, "text": text, "vector": vector} for name, text, vector in columns]
            if self._table is None:
                self._table = self._database.create_table("texts", rows)
            else:
                self._table.add(rows)
        self._table.create_fts_index("text", use_tantivy=False)

    def search(self, question: str) -> list[str]:
        vector = self._given.vectors([question])[0]
        found = self._table.search(query_type="hybrid").vector(vector).text(question).limit(LIMIT)
        return [row["id"] for row in found.to_list()]

    def delete(self, name: str) -> None:
        self._table.delete(f"id = '{name}'")

    def count(self) -> int:
        return int(self._table.count_rows()) if self._table is not None else 0

    def close(self) -> None:
        pass


class Chroma:
    """A persistent collection; it has no ranking by words, so that its search is by vectors alone."""

    package, kind = "chromadb", "dense"

    def __init__(self, folder: Path, given: Given) -> None:
        import chromadb

        self._given = given
        self._collection = chromadb.PersistentClient(str(folder)).get_or_create_collection("texts")

    def ingest(self) -> None:
        for names, texts in self._given.batches():
            self._collection.add(ids=names, documents=texts, embeddings=self._given.vectors(texts))

    def search(self, question: str) -> list[str]:
        found = self._collection.query(query_embeddings=self._given.vectors([question]), n_results=LIMIT)
        return list(found["ids"][0])

    def delete(self, name: str) -> None:
        self._collection.delete(ids=[name])

    def count(self) -> int:
        return int(self._collection.count())

    def close(self) -> None:
        pass


class LangChain:
    """Chroma as a vector store beside BM25 in memory, joined by reciprocal ranks: the ensemble of its documentation."""

    package, kind = "langchain-chroma", "hybrid"

    def __init__(self, folder: Path, given: Given) -> None:
        from langchain_chroma import Chroma as Store
        from langchain_core.embeddings import Embeddings

        class Vectors(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return given.vectors(texts).tolist()

            def embed_query(self, text: str) -> list[float]:
                return given.vectors([text])[0].tolist()

        self._given = given
        self._store = Store("texts", embedding_function=Vectors(), persist_directory=str(folder))
        self._words: Any = None

    def ingest(self) -> None:
        for names, texts in self._given.batches():
            self._store.add_texts(texts, metadatas=[{"name": name} for name in names], ids=names)

    def search(self, question: str) -> list[str]:
        if self._words is None:  # it is not kept: every process makes it again from all texts
            from langchain_community.retrievers import BM25Retriever

            held = self._store.get()
            self._words = BM25Retriever.from_texts(held["documents"], metadatas=held["metadatas"], k=LIMIT)
        scores: dict[str, float] = {}
        for found in (self._words.invoke(question), self._store.similarity_search(question, k=LIMIT)):
            for rank, one in enumerate(found, start=1):
                scores[one.metadata["name"]] = scores.get(one.metadata["name"], 0.0) + 0.5 / (60 + rank)
        return sorted(scores, key=lambda name: -scores[name])[:LIMIT]

    def delete(self, name: str) -> None:
        self._store.delete([name])

    def count(self) -> int:
        return len(self._store.get(include=[])["ids"])

    def close(self) -> None:
        pass


class Txtai:
    """A hybrid index with content, saved at the end."""

    package, kind = "txtai", "hybrid"

    def __init__(self, folder: Path, given: Given) -> None:
        from txtai import Embeddings

        self._given, self._folder = given, folder

        def transform(texts: Sequence[str]) -> Any:
            return given.vectors([texts] if isinstance(texts, str) else list(texts))

        self._index = Embeddings(hybrid=True, content=True, method="external", transform=transform)
        if folder.exists() and any(folder.iterdir()):
            self._index.load(str(folder), config={**_kept(folder), "transform": transform})

    def ingest(self) -> None:
        for number, (names, texts) in enumerate(self._given.batches()):
            rows = [(name, text, None) for name, text in zip(names, texts, strict=True)]
            (self._index.upsert if number else self._index.index)(rows)
        self._index.save(str(self._folder))

    def search(self, question: str) -> list[str]:
        return [row["id"] for row in self._index.search(question, LIMIT)]

    def delete(self, name: str) -> None:
        self._index.delete([name])

    def count(self) -> int:
        return int(self._index.count()) if self._index.config.get("offset") else 0

    def close(self) -> None:
        self._index.close()


def _kept(folder: Path) -> dict[str, Any]:
    """The configuration that txtai kept, without the function it could not keep."""
    kept: dict[str, Any] = json.loads((folder / "config.json").read_text())
    return kept


class Haystack:
    """Its store in memory, with the two retrievers joined by reciprocal ranks, written to a file at the end."""

    package, kind = "haystack-ai", "hybrid"

    def __init__(self, folder: Path, given: Given) -> None:
        from haystack.document_stores.in_memory import InMemoryDocumentStore

        folder.mkdir(parents=True, exist_ok=True)
        self._given, self._file = given, folder / "store.json"
        load = InMemoryDocumentStore.load_from_disk
        self._store = load(str(self._file)) if self._file.exists() else InMemoryDocumentStore()

    def ingest(self) -> None:
        from haystack import Document

        for names, texts in self._given.batches():
            columns = zip(names, texts, self._given.vectors(texts).tolist(), strict=True)
            self._store.write_documents([Document(id=n, content=t, embedding=v) for n, t, v in columns])
        self._store.save_to_disk(str(self._file))

    def search(self, question: str) -> list[str]:
        vector = self._given.vectors([question])[0].tolist()
        scores: dict[str, float] = {}
        for found in (
            self._store.bm25_retrieval(question, top_k=LIMIT),
            self._store.embedding_retrieval(vector, top_k=LIMIT),
        ):
            for rank, one in enumerate(found, start=1):
                scores[one.id] = scores.get(one.id, 0.0) + 1 / (60 + rank)
        return sorted(scores, key=lambda name: -scores[name])[:LIMIT]

    def delete(self, name: str) -> None:
        self._store.delete_documents([name])

    def count(self) -> int:
        return int(self._store.count_documents())

    def close(self) -> None:
        pass


class LlamaIndex:
    """Its own vector store, kept as JSON; it has BM25 as a package beside, which is not measured."""

    package, kind = "llama-index-core", "dense"

    def __init__(self, folder: Path, given: Given) -> None:
        from llama_index.core.vector_stores import SimpleVectorStore

        folder.mkdir(parents=True, exist_ok=True)
        self._given, self._file = given, folder / "vectors.json"
        kept = self._file.exists()
        self._store = SimpleVectorStore.from_persist_path(str(self._file)) if kept else SimpleVectorStore()

    def ingest(self) -> None:
        from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

        for names, texts in self._given.batches():
            columns = zip(names, texts, self._given.vectors(texts).tolist(), strict=True)
            nodes = [TextNode(id_=name, text=text, embedding=vector) for name, text, vector in columns]
            for node in nodes:
                node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=node.node_id)
            self._store.add(nodes)
        self._store.persist(str(self._file))

    def search(self, question: str) -> list[str]:
        from llama_index.core.vector_stores import VectorStoreQuery

        vector = self._given.vectors([question])[0].tolist()
        found = self._store.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=LIMIT))
        return list(found.ids or [])

    def delete(self, name: str) -> None:
        self._store.delete(name)

    def count(self) -> int:
        return len(self._store.data.embedding_dict)

    def close(self) -> None:
        pass


ENGINES: dict[str, Any] = {
    "footnotes": Footnotes,
    "lancedb": LanceDB,
    "txtai": Txtai,
    "langchain": LangChain,
    "chroma": Chroma,
    "haystack": Haystack,
    "llamaindex": LlamaIndex,
}


def processor_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def main(name: str, what: str, work: Path, folder: Path) -> dict[str, Any]:
    given = Given(work)
    if what == "embed":
        given.keep_vectors()
        return {}
    engine = ENGINES[name](folder, given)
    if given.has_model and what == "ingest":
        engine.load_model() if name == "footnotes" else given.vectors(given.questions[:1])
    began, before = time.perf_counter(), processor_seconds()
    if what == "ingest":
        engine.ingest()
        took = time.perf_counter() - began
        print(json.dumps({"acknowledged": len(given.files)}), flush=True)
        engine.close()
        return {"seconds": took, "processor": processor_seconds() - before}
    if what == "count":
        return {"count": engine.count()}
    if what == "delete":
        gone = given.files[0]
        question = " ".join(gone.read_text(encoding="utf-8").split()[:12])
        engine.delete(gone.stem)
        return {"found_after_delete": gone.stem in engine.search(question)}
    if what == "rank":
        return {"rankings": [engine.search(question) for question in given.questions]}
    engine.search(given.questions[0])
    print(json.dumps({"first": True}), flush=True)
    for question in given.questions[:20]:
        engine.search(question)
    before, times = processor_seconds(), []
    for question in given.questions:
        start = time.perf_counter()
        engine.search(question)
        times.append(time.perf_counter() - start)
    memory = int(
        next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line).split()[1]
    )
    return {
        "p50_ms": float(np.percentile(times, 50)) * 1000,
        "p95_ms": float(np.percentile(times, 95)) * 1000,
        "processor_ms": (processor_seconds() - before) / len(times) * 1000,
        "memory_mb": memory / 1024,
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))), flush=True)
