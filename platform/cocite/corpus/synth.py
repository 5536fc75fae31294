"""Synthetic corpora of any size, in which content and co-citation both predict what is cited.

Papers come in order of their year, in ``topics`` that take turns. A paper's words are common ones, words of its topic
(Zipf), its own two *signature* words, and signature words of papers it cites: so a shared rare word predicts a link,
but only half of the time. Within a topic, papers that follow each other form *circles*; a paper that cites one of a
circle often cites others of it. Nothing in their words predicts that: only co-citation does. Earlier cited papers are
cited again with a probability that grows with their citations (preferential attachment, Barabasi and Albert 1999).

Everything is drawn block by block from generators seeded with (seed, block), so a corpus is a function of its settings,
and its making holds one block and one small reservoir in memory, whatever the number of papers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cocite.corpus import vocabulary
from cocite.corpus.records import CONTEXTS, OTHER_MARK, PAPERS, SENTENCES, SPLITS, TARGET_MARK, Record
from cocite.corpus.streams import SourcePosition
from cocite.corpus.synth_block import SyntheticBlock, list_column, paper_ids, repeated

FIRST_YEAR, LAST_YEAR = 1990, 2019
TOPIC_WORDS = 60
"""Words of a topic's own."""
CIRCLE = 5
"""Papers of a circle."""
ANCHORS = 4
"""Papers that a paper chooses to cite, at most; with those of their circles it cites about eight."""
COMPANIONS = 3
"""Further papers of an anchor's circle that may be cited with it, each with probability ``COMPANY``."""
COMPANY = 0.45
SAME_TOPIC = 0.85
"""Share of anchors within the paper's own topic."""
PREFERENTIAL = 0.5
"""Share of anchors drawn by their citations rather than evenly."""
INHERITED = 0.55
"""Probability that an anchor's signature word is used by the paper that cites it."""
RESERVOIR = 256
"""Cited papers kept for each topic, for preferential attachment."""
TITLE, ABSTRACT, SIDE = 8, 60, 14
"""Words of a title, an abstract, and one side of a context."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: multiplying by it spreads consecutive rows (Knuth)."""
VENUES = pa.array(
    [f"Proceedings of {word.upper()}" for word in vocabulary.words(np.arange(900, 950)).tolist()]
)
SECTION = "Introduction"
"""Heading of every section."""
NO_CONTEXTS = pa.RecordBatch.from_pylist([], CONTEXTS)
NO_SENTENCES = pa.RecordBatch.from_pylist([], SENTENCES)


class Synthetic:
    """A stream of papers and contexts.

    Args:
        papers: how many.
        seed: the same settings and seed give the same records.
        context_rate: contexts a paper, on average; each stands for one anchor and its companions.
        sentences: also yield a body: each context's sentence between two others.
        one_year: all papers are of the last year, and split at random: a tenth each are dev and test.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.builder import build
        >>> from cocite.corpus.synth import Synthetic
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build(Synthetic(200, seed=5), f"{folder}/store")
        ...     len(corpus), len(corpus.cites.indices), len(corpus.contexts), corpus.paper(199).title
        (200, 1133, 723, 'the starplu of parplon work stilcan flildro wajen')
    """

    format = "synth"

    def __init__(
        self,
        papers: int,
        *,
        seed: int = 0,
        context_rate: float = 4.0,
        sentences: bool = False,
        one_year: bool = False,
    ) -> None:
        self.papers = papers
        self.seed = seed
        self.context_rate = context_rate
        self.sentences = sentences
        self.one_year = one_year
        self.topics = max(round(0.7 * papers**0.5), 3)
        # Early blocks are short: a paper cites only papers of blocks before its own.
        self.block = int(np.clip(papers // 64, 8, 8192))
        self.position = SourcePosition("synth")
        self._common = len(vocabulary.COMMON)
        self._words = self._vocabulary()

    def settings(self) -> dict[str, Any]:
        """The settings that determine the corpus."""
        return {
            "papers": self.papers,
            "seed": self.seed,
            "context_rate": self.context_rate,
            "sentences": self.sentences,
            **({"one_year": True} if self.one_year else {}),
        }

    def __iter__(self) -> Iterator[Record]:
        for block in self.blocks():
            for row, record in block.records():
                self.position.line = row + 1
                yield record

    def blocks(self) -> Iterator[SyntheticBlock]:
        """The papers block by block, in order of their rows."""
        reservoir = np.full((self.topics, RESERVOIR), -1, np.int32)
        for number, start in enumerate(range(0, self.papers, self.block)):
            rng = np.random.default_rng([self.seed, number])
            rows = np.arange(start, min(start + self.block, self.papers))
            anchors, companions = self._choose(rng, rows, reservoir)
            papers = self._papers(rng, rows, anchors)
            contexts, sentences = NO_CONTEXTS, NO_SENTENCES
            if self.context_rate > 0:
                contexts, sentences = self._contexts(rng, rows, anchors, companions)
            self._remember(rng, anchors, reservoir)
            cited = np.concatenate([anchors[:, :, None], companions], 2).reshape(len(rows), -1)
            yield SyntheticBlock(rows, papers, cited, contexts, sentences)

    # -- structure ------------------------------------------------------------------------------------------

    def year(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        """Years grow with the row, and each has more papers than the one before; or all are the last one."""
        if self.one_year:
            return np.full(np.shape(rows), LAST_YEAR, np.int64)
        share = (np.asarray(rows) + 0.5) / self.papers
        span = LAST_YEAR - FIRST_YEAR + 1
        return np.asarray(FIRST_YEAR + np.floor(span * np.sqrt(share)), np.int64)

    def split(self, rows: NDArray[np.integer]) -> NDArray[np.int8]:
        """The split of each row (a position in ``SPLITS``) by year; or a tenth each for dev and test, evenly spread."""
        train, dev, test = (SPLITS.index(name) for name in ("train", "dev", "test"))
        if self.one_year:
            mixed = np.asarray(rows, np.uint64) * _GOLDEN >> np.uint64(32)
            part = (mixed % np.uint64(10)).astype(np.int64)
            return np.select([part == 0, part == 1], [dev, test], train).astype(np.int8)
        years = self.year(rows)
        return np.select([years <= LAST_YEAR - 4, years == LAST_YEAR - 3], [train, dev], test).astype(np.int8)

    def topic(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        """The topics take turns."""
        return np.asarray(np.asarray(rows, np.int64) % self.topics)

    def circle(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        """(n, CIRCLE) the rows of each paper's circle: consecutive papers of its topic."""
        rows = np.asarray(rows, np.int64)
        first = rows // self.topics // CIRCLE * CIRCLE * self.topics + rows % self.topics
        return np.asarray(first[:, None] + self.topics * np.arange(CIRCLE))

    def _choose(
        self, rng: np.random.Generator, rows: NDArray[np.int64], reservoir: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Anchors (n, A) and their companions (n, A, CIRCLE), -1 where there is none."""
        start, shape = int(rows[0]), (len(rows), ANCHORS)
        if start < self.topics:
            return np.full(shape, -1, np.int64), np.full((*shape, CIRCLE), -1, np.int64)
        topic = np.where(
            rng.random(shape) < SAME_TOPIC, self.topic(rows)[:, None], rng.integers(0, self.topics, shape)
        )
        # Evenly among the topic's earlier papers, leaning to recent ones as citations do.
        earlier = (start - 1 - topic) // self.topics + 1
        even = topic + self.topics * np.floor(earlier * rng.random(shape) ** 0.7).astype(np.int64)
        popular = reservoir[topic, rng.integers(0, RESERVOIR, shape)]
        anchors = np.where((rng.random(shape) < PREFERENTIAL) & (popular >= 0), popular, even)
        anchors = np.where(rng.random(shape) < 0.85, anchors, -1)
        circle = self.circle(anchors.ravel()).reshape(*shape, CIRCLE)
        chosen = (rng.random(circle.shape) < COMPANY) & (circle < start) & (circle != anchors[..., None])
        chosen &= (anchors >= 0)[..., None] & (np.cumsum(chosen, -1) <= COMPANIONS)
        return anchors, np.where(chosen, circle, -1)

    def _remember(
        self, rng: np.random.Generator, anchors: NDArray[np.int64], reservoir: NDArray[np.int32]
    ) -> None:
        """Put the block's anchors into their topics' reservoirs at random positions, over older ones."""
        cited = anchors[anchors >= 0]
        reservoir[self.topic(cited), rng.integers(0, RESERVOIR, len(cited))] = cited

    # -- words ----------------------------------------------------------------------------------------------

    def _vocabulary(self) -> pa.Array:
        """Common words, then every topic's, then two signature words a paper (drawn from a shared pool)."""
        own = np.arange(self.topics * TOPIC_WORDS + self._signatures)
        return pa.concat_arrays(
            [
                pa.array([*vocabulary.COMMON, TARGET_MARK, OTHER_MARK]),
                pa.array(vocabulary.words(own).tolist()),
            ]
        )

    @property
    def _signatures(self) -> int:
        """Distinct signature words: few enough that two papers may share one by chance."""
        return max(self.papers, 64) if self.papers <= 200_000 else 200_000

    def signature(self, rows: NDArray[np.integer], which: int) -> NDArray[np.int64]:
        """Word numbers of the papers' first or second signature word."""
        mixed = (np.asarray(rows, np.uint64) * np.uint64(2) + np.uint64(which)) * _GOLDEN
        first = self._common + 2 + self.topics * TOPIC_WORDS
        return np.asarray(first + (mixed >> np.uint64(20)) % np.uint64(self._signatures), np.int64)

    def _topical(self, rng: np.random.Generator, topic: NDArray[np.int64], length: int) -> NDArray[np.int64]:
        """(n, length) words: three fifths common, the rest of the topic, both by Zipf's law."""
        shape = (len(topic), length)
        common = np.floor(self._common ** rng.random(shape)).astype(np.int64) - 1
        special = np.floor(TOPIC_WORDS ** rng.random(shape)).astype(np.int64) - 1
        special += self._common + 2 + topic[:, None] * TOPIC_WORDS
        return np.where(rng.random(shape) < 0.6, common, special)

    def _insert(self, rng: np.random.Generator, text: NDArray[np.int64], words: NDArray[np.int64]) -> None:
        """Put words (n, m) over random positions of texts (n, length); -1 puts nothing."""
        places = np.argsort(rng.random(text.shape), axis=1)[:, : words.shape[1]]
        old = np.take_along_axis(text, places, 1)
        np.put_along_axis(text, places, np.where(words >= 0, words, old), 1)

    # -- columns --------------------------------------------------------------------------------------------

    def _papers(
        self, rng: np.random.Generator, rows: NDArray[np.int64], anchors: NDArray[np.int64]
    ) -> pa.RecordBatch:
        """The block's papers, as ``PAPERS``."""
        topic = self.topic(rows)
        own = np.stack([self.signature(rows, 0), self.signature(rows, 1)], 1)
        inherited = np.where(
            (anchors >= 0) & (rng.random(anchors.shape) < INHERITED), self.signature(anchors, 0), -1
        )
        title, abstract = self._topical(rng, topic, TITLE), self._topical(rng, topic, ABSTRACT)
        self._insert(rng, title, own)
        self._insert(rng, abstract, np.concatenate([own, own, inherited], 1))
        titles, abstracts = vocabulary.sentences([title, abstract], self._words)
        authors = self._authors(rng, topic)
        venue = (topic + (rng.random(len(rows)) < 0.3) * rng.integers(0, 50, len(rows))) % 50
        phrases = self._words.take(pa.array(self._common + 2 + topic * TOPIC_WORDS))
        columns = {
            "id": paper_ids(rows),
            "title": titles,
            "abstract": abstracts,
            "year": pa.array(self.year(rows), pa.int16()),
            "venue": VENUES.take(pa.array(venue)),
            "authors": authors,
            "keyphrases": list_column(np.ones(len(rows), np.int64), phrases),
            "doi": repeated("", len(rows)),
            "split": pa.array(self.split(rows)),
        }
        return pa.RecordBatch.from_arrays([columns[name] for name in PAPERS.names], schema=PAPERS)

    def _authors(self, rng: np.random.Generator, topic: NDArray[np.int64]) -> pa.ListArray:
        """One to four authors of the topic for each paper; a topic has about one author for three papers."""
        pool = max(self.papers // self.topics // 3, 4)
        authors = np.floor(pool * rng.random((len(topic), 4)) ** 1.5).astype(np.int64) + topic[:, None] * pool
        slots = np.arange(4)
        chosen = slots < rng.integers(1, 5, len(topic))[:, None]
        # Different numbers have different names: an author that an earlier slot holds is left out.
        earlier = (authors[:, :, None] == authors[:, None, :]) & (slots[None, :] < slots[:, None])
        chosen &= ~earlier.any(2)
        return list_column(chosen.sum(1), pa.array(vocabulary.names(authors[chosen])))

    def _contexts(
        self,
        rng: np.random.Generator,
        rows: NDArray[np.int64],
        anchors: NDArray[np.int64],
        companions: NDArray[np.int64],
    ) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """The block's contexts, as ``CONTEXTS``, and their bodies: one anchor and its companions in each."""
        is_anchor = anchors >= 0
        expected = self.context_rate / (0.85 * ANCHORS)
        times = np.where(is_anchor, np.floor(expected + rng.random(anchors.shape)).astype(np.int64), 0)
        paper, slot = np.nonzero(times)
        repeat = times[paper, slot]
        paper, slot = np.repeat(paper, repeat), np.repeat(slot, repeat)
        if not len(paper):
            return NO_CONTEXTS, NO_SENTENCES
        anchor = anchors[paper, slot]
        topic = self.topic(anchor)
        left, right = self._topical(rng, topic, SIDE), self._topical(rng, topic, SIDE)
        # Two contexts out of three hold the signature word of the anchor that they cite.
        signatures = np.where(rng.random(len(paper)) < 0.66, self.signature(anchor, 0), -1)
        self._insert(rng, left, signatures[:, None])
        other = np.where(rng.random(len(paper)) < 0.3, self._common + 1, -1)
        self._insert(rng, right, other[:, None])
        gap = np.full((len(paper), 1), self._common)
        number = np.arange(len(paper)) - np.searchsorted(paper, paper)
        group = np.sort(np.concatenate([anchor[:, None], companions[paper, slot]], 1), 1)
        columns = {
            "id": pc.binary_join_element_wise(
                paper_ids(rows[paper]), pc.cast(pa.array(number), pa.string()), "/"
            ),
            "citing": pa.array(rows[paper], pa.int32()),
            "cited": list_column((group >= 0).sum(1), pa.array(group[group >= 0], pa.int32())),
            "text": vocabulary.sentences([np.concatenate([left, gap, right], 1)], self._words)[0],
            "sentence": pa.array(2 * number + 1 if self.sentences else np.full(len(paper), -1), pa.int32()),
            "section": repeated(SECTION, len(paper)),
            "group": pa.array(number, pa.int32()),
            "unresolved": pa.array(rng.random(len(paper)) < 0.1).cast(pa.int32()),
        }
        contexts = pa.RecordBatch.from_arrays([columns[name] for name in CONTEXTS.names], schema=CONTEXTS)
        return contexts, self._bodies(number, left, right) if self.sentences else NO_SENTENCES

    def _bodies(
        self, number: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> pa.RecordBatch:
        """Two sentences for each context, as ``SENTENCES``: the words before the gap from last to first, and its own.

        Args:
            number: (n,) of the context in its paper.
            left: (n, SIDE) words before the gap.
            right: (n, SIDE) words after the gap.
        """
        turned, before, after = vocabulary.sentences([left[:, ::-1], left, right], self._words)
        mark = pc.binary_join_element_wise("[[CIT:", pc.cast(pa.array(number), pa.string()), "]]", "")
        texts = pa.concat_arrays([turned, pc.binary_join_element_wise(before, mark, after, " ")])
        in_turn = np.arange(2 * len(number)).reshape(2, -1).T.ravel()
        columns = {
            "position": pa.array((2 * number[:, None] + [0, 1]).ravel(), pa.int32()),
            "section": repeated(SECTION, len(texts)),
            "text": texts.take(pa.array(in_turn)),
        }
        return pa.RecordBatch.from_arrays([columns[name] for name in SENTENCES.names], schema=SENTENCES)
