"""Papers and citation contexts as sentences of tokens, which documents of a hierarchical model are composed of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from cocite.corpus.records import TARGET_MARK
from cocite.errors import ConfigError
from cocite.text.documents import bounds
from cocite.text.gaps import strip_marks
from cocite.text.sentence_vectors import SentenceVectors
from cocite.text.sentences import split_sentences
from cocite.text.token_lists import TokenLists, spans

_BODY_MARK = re.compile(r"\[\[CIT:\d+\]\]")
_GAP = re.compile(rf"{TARGET_MARK}|\[CIT\]")


def without_marks(sentence: str) -> str:
    """A sentence of a body or a context without its citation marks, which would give away the sentence of the gap.

    Example:
        >>> without_marks("As in [[CIT:3]] and TARGETCIT, we parse.")
        'As in and , we parse.'
    """
    return strip_marks(_BODY_MARK.sub(" ", sentence))


def words_around_gap(context: str, most: int) -> str:
    """At most ``most`` words on each side of the gap of a context, without citation marks; empty where it has no gap.

    Example:
        >>> words_around_gap("Of OTHERCIT and the parser of TARGETCIT, we take the second.", 2)
        'parser of , we'
    """
    gap = _GAP.search(context)
    if gap is None or not most:
        return ""
    before, after = (without_marks(part).split() for part in (context[: gap.start()], context[gap.end() :]))
    return " ".join([*before[-most:], *after[:most]])


@dataclass(frozen=True)
class Surroundings:
    """The texts around n gaps, as sentences of tokens, for gaps whose sentence is not in the body of a paper.

    Attributes:
        sentences: one list of tokens each, the end token included.
        indptr: (n + 1,) int64 position of each text's first sentence.
        gap: (n,) int64 which of its sentences contains the gap; 0 where there is no sentence.
        numbers: (S,) int64 which of the sentences of a larger one these are; None: all, in order.
        near: n sentences of the words next to each gap; None: these are not read.

    Example:
        >>> sentences = TokenLists.of([[5, 2], [6, 2], [7, 2]])
        >>> texts = Surroundings(sentences, np.array([0, 2, 3]), gap=np.array([1, 0]))
        >>> len(texts), texts.take(np.array([1])).sentences[0].tolist()
        (2, [7, 2])
    """

    sentences: TokenLists
    indptr: NDArray[np.int64]
    gap: NDArray[np.int64]
    numbers: NDArray[np.int64] | None = None
    near: TokenLists | None = None

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def take(self, positions: NDArray[np.integer]) -> Surroundings:
        """The texts around the gaps at some positions; no token is copied."""
        first, counts = self.indptr[positions], self.indptr[positions + 1] - self.indptr[positions]
        at = spans(np.asarray(first, np.int64), np.asarray(counts, np.int64))
        numbers = at if self.numbers is None else self.numbers[at]
        near = None if self.near is None else self.near.take(np.asarray(positions, np.int64))
        return Surroundings(self.sentences.take(at), bounds(counts), self.gap[positions], numbers, near)

    @classmethod
    def none(cls, count: int) -> Surroundings:
        """The empty texts of ``count`` gaps."""
        return cls(TokenLists.of([]), np.zeros(count + 1, np.int64), np.zeros(count, np.int64))


@dataclass(frozen=True)
class SentenceTexts:
    """The sentences of N papers and of C contexts, as tokens; every sentence ends with the end token.

    Attributes:
        tokenizer: a Hugging Face tokenizer.
        abstracts: title and abstract sentences of all papers.
        abstract_indptr: (N + 1,) int64 position of each paper's first.
        bodies: body sentences of all papers, in order.
        body_indptr: (N + 1,) int64 position of each paper's first.
        body_positions: the position that each body sentence has in the store, ascending within a paper, with gaps.
        contexts: the texts of contexts whose own sentence is not among the bodies; other contexts have no text here.
        context_citing: (C,) the paper of each context.
        context_positions: (C,) position of its sentence in the paper's body, -1 where unknown.
        vectors: of the sentences, by a frozen trunk; None: there are none.

    Example:
        >>> abstracts, bodies = TokenLists.of([[5, 2], [6, 2]]), TokenLists.of([])
        >>> none = np.zeros(3, np.int64)
        >>> len(SentenceTexts(None, abstracts, np.array([0, 1, 2]), bodies, none, np.empty(0, np.int32)))
        2
    """

    tokenizer: Any
    abstracts: TokenLists
    abstract_indptr: NDArray[np.int64]
    bodies: TokenLists
    body_indptr: NDArray[np.int64]
    body_positions: NDArray[np.int32]
    contexts: Surroundings = field(default_factory=lambda: Surroundings.none(0))
    context_citing: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    context_positions: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    vectors: SentenceVectors | None = None

    def __len__(self) -> int:
        return len(self.abstract_indptr) - 1


def end_token(tokenizer: Any) -> int:
    """The token that every sentence ends with: the tokenizer's end token, else its separator.

    Raises:
        ConfigError: it has neither.
    """
    end = tokenizer.eos_token_id if tokenizer.eos_token_id is not None else tokenizer.sep_token_id
    if end is None:
        raise ConfigError(
            "the tokenizer has neither an end token nor a separator",
            hint="take one that has, as BERT's do",
        )
    return int(end)


class SentenceReader:
    """Tokenises sentences.

    Rust code tokenises texts in batches; a text that spells a special token is read as ordinary characters.

    Args:
        tokenizer: a Hugging Face tokenizer with an end or a separator token.
        most: most tokens of a sentence, with the end token; longer ones are cut.

    Raises:
        ConfigError: the tokenizer has no token to end a sentence with.

    Example:
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> reader = SentenceReader(train_wordpiece(lambda: ["parsing trees"] * 2, size=60), most=10)
        >>> texts = reader.surroundings(["Parsing trees. As in [CIT]. Trees."])
        >>> len(texts.sentences), texts.gap.tolist()
        (3, [1])
    """

    def __init__(self, tokenizer: Any, most: int) -> None:
        self.tokenizer, self.most = tokenizer, most
        self.end = end_token(tokenizer)
        # A copy, because truncation and padding are state of a tokenizer, which this one has to be without.
        self._rust = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self._rust.no_truncation()
        self._rust.no_padding()
        self._rust.encode_special_tokens = True

    def tokens(self, sentences: Sequence[str]) -> TokenLists:
        """The tokens of each sentence, with the end token."""
        encodings = self._rust.encode_batch_fast(list(sentences), add_special_tokens=False)
        words = TokenLists.of([encoding.ids for encoding in encodings]).head(self.most - 1)
        n = len(words)
        end = TokenLists(np.array([self.end], np.int32), np.zeros(n, np.int64), np.ones(n, np.int64))
        return TokenLists.joined([words, end])

    def abstracts(
        self, titles: Iterable[str | None], abstracts: Iterable[str | None], *, title: bool = True
    ) -> tuple[TokenLists, NDArray[np.int64]]:
        """Tokenise n papers: the title as a sentence (if ``title``), then the sentences of the abstract.

        Returns:
            All sentences, and (n + 1,) the position of each paper's first.
        """
        split = split_sentences(text or "" for text in abstracts)
        heads = [[text] if title and text and text.strip() else [] for text in titles]
        papers = [head + sentences for head, sentences in zip(heads, split, strict=True)]
        return self._tokenise_groups(papers)

    def bodies(self, papers: Sequence[Sequence[str]]) -> tuple[TokenLists, NDArray[np.int64]]:
        """Tokenise body sentences without their citation marks; returns as :meth:`abstracts`."""
        return self._tokenise_groups([[without_marks(sentence) for sentence in paper] for paper in papers])

    def near(self, contexts: Iterable[str], most: int) -> TokenLists:
        """Tokenise at most ``most`` words on each side of the gap of each context, as a sentence."""
        return self.tokens([words_around_gap(context, most) for context in contexts])

    def surroundings(self, contexts: Sequence[str], *, near: int = 0) -> Surroundings:
        """Tokenise contexts with a gap that reads ``TARGETCIT`` or ``[CIT]``; without one, the middle sentence counts.

        Marks are words while a context is split into sentences, and are then removed.

        Args:
            contexts: the texts.
            near: most words on each side of a gap that are a sentence of their own; 0: there is none.
        """
        split = split_sentences(contexts)
        gaps = [
            next((i for i, sentence in enumerate(text) if _GAP.search(sentence)), max(len(text) - 1, 0) // 2)
            for text in split
        ]
        tokens, indptr = self.bodies(split)
        words = self.near(contexts, near) if near else None
        return Surroundings(tokens, indptr, np.array(gaps, np.int64), near=words)

    def _tokenise_groups(self, texts: Sequence[Sequence[str]]) -> tuple[TokenLists, NDArray[np.int64]]:
        counts = np.fromiter(map(len, texts), np.int64, len(texts))
        return self.tokens([sentence for text in texts for sentence in text]), bounds(counts)


def stretches(
    counts: NDArray[np.integer], most: int, length: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Select sentences of each paper: all, or stretches of successive ones spread evenly over the text.

    Args:
        counts: (n,) sentences of each paper.
        most: most sentences of a paper; 0: all are selected.
        length: sentences of a stretch, where not all are selected.

    Returns:
        The paper of every selected sentence, and its position in the paper, in order.

    Example:
        >>> owner, position = stretches(np.array([3, 10]), most=4, length=2)
        >>> owner.tolist(), position.tolist()
        ([0, 0, 0, 1, 1, 1, 1], [0, 1, 2, 0, 1, 5, 6])
    """
    counts = np.asarray(counts, np.int64)
    length = max(min(length, most), 1)
    parts = most // length
    cut = (counts > most) & (most > 0)
    selected = np.where(cut, parts * length, counts)
    owner = np.repeat(np.arange(len(counts)), selected)
    position = np.arange(len(owner)) - np.repeat(np.cumsum(selected) - selected, selected)
    if parts:
        part, within = np.divmod(position, length)
        position = np.where(cut[owner], part * counts[owner] // parts + within, position)
    return owner, position
