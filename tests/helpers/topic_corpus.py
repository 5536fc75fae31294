"""Records of a small corpus of four topics, an encoder that needs no training, and queries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.records import ContextRecord, PaperRecord, Record
from cocite.corpus.store import Corpus
from cocite.protocols import Query

TOPICS = (
    "parsing treebank grammar dependency constituent",
    "translation alignment decoder phrase bilingual",
    "retrieval index query ranking relevance",
    "dialogue speech turn utterance agent",
)


def make_records(papers: int, *, seed: int = 0, start: int = 0) -> list[Record]:
    """Papers of four topics; each cites up to four earlier ones of its topic, each in a context of its own words."""
    rng = np.random.default_rng(seed)
    records: list[Record] = []
    for i in range(start, start + papers):
        words = TOPICS[i % len(TOPICS)].split()
        earlier = list(range(i % len(TOPICS), i, len(TOPICS)))
        cited = [f"p{j}" for j in rng.permutation(earlier)[:4]]
        title = " ".join(rng.choice(words, 3)) + f" study{i}"
        abstract = " ".join(rng.choice(words, 12)) if i % 7 else ""
        year = 2000 + i // 8
        records.append(
            PaperRecord(f"p{i}", title, abstract, year, authors=(f"A{i % 5}",), citations=tuple(cited))
        )
        for n, other in enumerate(cited):
            before, after = " ".join(rng.choice(words, 6)), " ".join(rng.choice(words, 3))
            text = f"{before} method{other} TARGETCIT as OTHERCIT shows {after}"
            records.append(ContextRecord(f"c{i}-{n}", f"p{i}", (other,), text))
    return records


def write_records(folder: Path, papers: int, *, files: int) -> None:
    """Write such records as cocite's own JSON lines, into several files of a new folder."""
    folder.mkdir()
    lines = []
    for record in make_records(papers, seed=3):
        if isinstance(record, PaperRecord):
            entry = {"title": record.title, "abstract": record.abstract, "citations": record.citations}
            lines.append({"id": record.id, "year": record.year - 8, **entry})
            lines.append({"paper": record.id, "text": f"We study {record.title} and {record.abstract}."})
        elif isinstance(record, ContextRecord):
            entry = {"citing": record.citing, "cited": record.cited, "context": record.text}
            lines.append({"id": record.id, **entry})
    for number in range(files):
        text = "".join(json.dumps(line) + "\n" for line in lines[number::files])
        (folder / f"{number}.jsonl").write_text(text)


class HashEncoder:
    """Adds up one fixed random direction a word: near texts get near vectors."""

    def __init__(self, id: str = "hash-1", dimension: int = 16, *, name: str = "hash") -> None:
        self.id, self.dimension, self.name = id, dimension, name
        self.encoded = 0

    def encode_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        self.encoded += len(rows)
        pairs = zip(corpus.papers.take("title", rows), corpus.papers.take("abstract", rows), strict=True)
        return self._encode([f"{title} {abstract or ''}" for title, abstract in pairs])

    def encode_queries(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        return self._encode([f"{q.context} {q.title} {q.abstract}" for q in queries])

    def _encode(self, texts: list[str]) -> NDArray[np.float32]:
        result = np.zeros((len(texts), self.dimension), np.float32)
        for i, text in enumerate(texts):
            for word in [self.id, *text.split()]:
                seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "little")
                result[i] += np.random.default_rng(seed).standard_normal(self.dimension)
        return result / np.linalg.norm(result, axis=1, keepdims=True)


def queries_of(corpus: Corpus, positions: Sequence[int]) -> list[Query]:
    """The contexts at some positions as local queries."""
    result = []
    for position in positions:
        row = int(corpus.context_citing[position])
        paper = corpus.paper(row)
        text = corpus.contexts.take("text", [position])[0]
        result.append(Query(f"q{position}", text, paper.title, paper.abstract, paper.year, paper=row))
    return result
