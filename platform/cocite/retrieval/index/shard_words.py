"""The words of the shards of an index: numbered, counted and weighed shard by shard, by the statistics of all.

| part | of | reads | writes |
| --- | --- | --- | --- |
| :func:`number_words` | a shard | its texts | word numbers of its own vocabulary |
| :func:`merge_words` | all shards | the vocabularies | one vocabulary, and each shard's numbers in it |
| :func:`count_words` | a shard | its word numbers | its counts, and their statistics |
| :func:`total_words` | all shards | the statistics | the vocabulary with the statistics of all |
| :func:`weigh_words` | a shard | its counts, the statistics | its inverted lists |

Vocabularies are merged in the order of the shards, each in the order of its words' first appearance. So a word has the
number that it has where all texts are read one after the other, however many shards there are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.artifacts import load_array
from cocite.atomic_files import write_atomic
from cocite.hard_links import add_links
from cocite.manifests import read_json
from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.bm25_files import (
    load_indexes,
    load_vocabulary,
    save_indexes,
    save_vocabulary,
    save_weights,
)
from cocite.retrieval.engines.packed_counts import CountsWriter, PackedCounts
from cocite.retrieval.engines.word_statistics import WordStatistics
from cocite.retrieval.index.documents import INSIDE, context_texts, titles_and_abstracts, with_progress
from cocite.retrieval.index.paper_indexes import divided_counts
from cocite.retrieval.index.shard_counts import SharedVocabulary
from cocite.retrieval.index.shard_inputs import ANCHORS, FIELDS, ShardInputs
from cocite.retrieval.index.shard_layout import CONTEXTS, PAPERS, save_words
from cocite.text.gaps import around_gap
from cocite.text.tokens import WordTokenizer

TEXTS, COLUMNS, VOCABULARIES = "texts", "columns", "vocabularies"
COUNTS, HELD, STATISTICS, WEIGHED = "counts", "held", "statistics", "weighed"
FINAL = "final"
"""Beginnings of the names of what the parts write; the content of what is final is a part of a version's folder."""
PUBLIC = {PAPERS: ("text", "title"), CONTEXTS: ("contexts",)}
"""Fields whose statistics the coordinator of a search knows, too."""
BLOCK = 1 << 16
"""Documents whose words are counted at a time."""


def number_words(inputs: ShardInputs, group: str, number: int) -> None:
    """Split the texts of one shard into words, numbered in the order of their first appearance there."""
    part, corpus = inputs.ranges[number], inputs.corpus()
    with inputs.files.write(part_name(TEXTS, group, number)) as folder:
        if group == PAPERS:
            both = with_progress(titles_and_abstracts(corpus, part.first, part.last), inputs.advance)
            texts: dict[str, Iterable[str]] = {"both": both}
        else:
            known = inputs.contexts(corpus, number)
            # Every word of a window stands in its context, so that none is new.
            texts = {
                "contexts": with_progress(context_texts(corpus, known), inputs.advance),
                "windows": context_texts(corpus, known, around_gap),
            }
        tokenizer, vocabulary = WordTokenizer(), dict[str, int]()
        for name, of_field in texts.items():
            numbers, indptr = tokenizer.learn(of_field, vocabulary, threads=inputs.splitters)
            np.save(folder / f"{name}.numbers.npy", numbers)
            np.save(folder / f"{name}.indptr.npy", indptr)
            del numbers, indptr
        save_vocabulary(vocabulary, folder)


def merge_words(inputs: ShardInputs, group: str) -> None:
    """Number the words of all shards: one vocabulary, and for each shard the columns of its own numbers."""
    vocabulary: dict[str, int] = {}
    columns = []
    for number in range(len(inputs.ranges)):
        words = load_vocabulary(inputs.files.read(part_name(TEXTS, group, number)))
        merged = (vocabulary.setdefault(word, len(vocabulary)) for word in words)
        columns.append(np.fromiter(merged, np.int32, len(words)))
    for number, of_shard in enumerate(columns):
        with inputs.files.write(part_name(COLUMNS, group, number)) as folder:
            np.save(folder / "columns.npy", of_shard)
            write_atomic(folder / "words.json", json.dumps(len(vocabulary)))
    with inputs.files.write(f"{VOCABULARIES}/{group}") as folder:
        save_vocabulary(vocabulary, folder)


def words_of_all(inputs: ShardInputs, group: str, number: int) -> int:
    """How many words the vocabulary of all shards has, as one shard is told."""
    return int(read_json(inputs.files.read(part_name(COLUMNS, group, number)) / "words.json"))


def count_words(inputs: ShardInputs, group: str, number: int) -> None:
    """Count the words of one shard's documents in the vocabulary of all."""
    texts = inputs.files.read(part_name(TEXTS, group, number))
    columns = load_array(inputs.files.read(part_name(COLUMNS, group, number)) / "columns.npy", mapped=False)
    width = words_of_all(inputs, group, number)
    save_fields(inputs, group, number, width, _counts(group, texts, columns, width))


def _counts(
    group: str, texts: Path, columns: NDArray[np.int32], width: int
) -> Iterator[tuple[sp.csr_matrix, sp.csr_matrix]]:
    """The word counts of both fields of a group, a block of documents at a time."""
    if group == PAPERS:
        both = _NumberedTexts.load(texts, "both")
        for start in range(0, len(both), 2 * BLOCK):
            yield divided_counts(*both.part(start, 2 * BLOCK, columns), columns=width)
        return
    outer, inner = (_NumberedTexts.load(texts, name) for name in FIELDS[group])
    for start in range(0, len(outer), BLOCK):
        contexts, windows = (
            matrices.counted(*field.part(start, BLOCK, columns), columns=width) for field in (outer, inner)
        )
        yield contexts, windows


@dataclass(frozen=True)
class _NumberedTexts:
    """Texts as numbers of words, which :func:`number_words` wrote."""

    numbers: NDArray[np.int32]
    indptr: NDArray[np.int64]

    @classmethod
    def load(cls, folder: Path, name: str) -> _NumberedTexts:
        """Memory-map the texts of a field."""
        return cls(*(load_array(folder / f"{name}.{part}.npy") for part in ("numbers", "indptr")))

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def part(
        self, start: int, count: int, columns: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Some texts, their words renumbered."""
        indptr = np.array(self.indptr[start : start + count + 1])
        return columns[self.numbers[indptr[0] : indptr[-1]]], indptr - indptr[0]


def save_fields(
    inputs: ShardInputs,
    group: str,
    number: int,
    words: int,
    blocks: Iterable[tuple[sp.csr_matrix, sp.csr_matrix]],
) -> None:
    """Write the word counts of both fields of a group of one shard, and their statistics.

    Args:
        inputs: of the build.
        group: of the fields.
        number: of the shard.
        words: of the vocabulary.
        blocks: the counts of documents in both fields, one block in memory at a time.
    """
    outer, names = FIELDS[group][0], FIELDS[group]
    held = [WordStatistics.total([])] * len(names)
    with inputs.files.write(part_name(COUNTS, group, number)) as folder:
        (folder / outer).mkdir()
        with CountsWriter(folder / outer, words) as writer:
            for block in blocks:
                writer.add(*block)
                held = [
                    WordStatistics.total([total, WordStatistics.of(counts)])
                    for total, counts in zip(held, block, strict=True)
                ]
    with inputs.files.write(part_name(HELD, group, number)) as folder:
        for name, statistics in zip(names, held, strict=True):
            statistics.save(folder / name)


def load_fields(inputs: ShardInputs, group: str, number: int, words: int) -> PackedCounts:
    """The word counts that :func:`save_fields` wrote, memory-mapped."""
    folder = inputs.files.read(part_name(COUNTS, group, number)) / FIELDS[group][0]
    return PackedCounts.load(folder, (inputs.documents(group, number), words))


def total_words(inputs: ShardInputs, group: str) -> None:
    """Add up the statistics of all shards, and write them as indexes of no document."""
    words = load_vocabulary(inputs.files.read(f"{VOCABULARIES}/{CONTEXTS if group == ANCHORS else group}"))
    vocabulary = SharedVocabulary(words=words)
    for number in range(len(inputs.ranges)):
        held = inputs.files.read(part_name(HELD, group, number))
        for name in FIELDS[group]:
            vocabulary.parts.setdefault(name, []).append(WordStatistics.load(held / name))
    fields = {name: vocabulary.without_documents(name, inputs.settings(name)) for name in FIELDS[group]}
    with inputs.files.write(f"{STATISTICS}/{group}") as folder:
        save_indexes(fields, folder, inside=INSIDE, without_lists=fields)
    if group != ANCHORS:
        public = {name: index for name, index in fields.items() if name in PUBLIC[group]}
        with inputs.files.write(f"{FINAL}/words-{group}") as folder:
            save_words(folder, {group: public})


def weigh_words(inputs: ShardInputs, group: str, number: int) -> None:
    """Weigh the words of one shard's documents by the statistics of all."""
    of_all = load_indexes(inputs.files.read(f"{STATISTICS}/{group}"), FIELDS[group])
    packed = load_fields(inputs, group, number, of_all[FIELDS[group][0]].counts.shape[1])
    with inputs.files.write(part_name(WEIGHED, group, number)) as folder:
        add_links(inputs.files.read(part_name(COUNTS, group, number)), folder)
        for name, statistics in of_all.items():
            counts = packed.inner if name in INSIDE else packed.outer
            (folder / name).mkdir(exist_ok=True)
            # Anchor texts are only asked about chosen papers.
            save_weights(
                statistics.like({}, counts, statistics.idf),
                folder / name,
                counts_in=INSIDE.get(name),
                lists=group != ANCHORS,
            )


def part_name(kind: str, group: str, number: int) -> str:
    """The name of what a part of one shard writes.

    Example:
        >>> part_name("counts", "papers", 3)
        'counts/papers/0003'
    """
    return f"{kind}/{group}/{number:04d}"
