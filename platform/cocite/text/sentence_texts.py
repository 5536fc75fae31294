"""Papers and citation contexts as sentences of tokens: what documents of a hierarchical model are put together from."""

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
from cocite.text.sentences import split_sentences
from cocite.text.token_lists import TokenLists, spans

_BODY_MARK = re.compile(r"\[\[CIT:\d+\]\]")
_GAP = re.compile(rf"{TARGET_MARK}|\[CIT\]")


def without_marks(sentence: str) -> str:
    """A sentence of a body or a context without its citation marks: they would tell which sentence is asked for."""
    return strip_marks(_BODY_MARK.sub(" ", sentence))


@dataclass(frozen=True)
class Surroundings:
    """The texts around n gaps, as sentences of tokens: for gaps whose sentence is not in a known body.

    Attributes:
        sentences: one list of tokens each, the end token included.
        indptr: (n + 1,) int64 where each text begins among them.
        gap: (n,) int64 which of its sentences holds the gap; 0 where there is no sentence.
    """

    sentences: TokenLists
    indptr: NDArray[np.int64]
    gap: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def take(self, places: NDArray[np.integer]) -> Surroundings:
        """Those of some of the gaps; no token is copied."""
        first, counts = self.indptr[places], self.indptr[places + 1] - self.indptr[places]
        return Surroundings(self.sentences.take(spans(first, counts)), bounds(counts), self.gap[places])

    @classmethod
    def none(cls, count: int) -> Surroundings:
        """Of ``count`` gaps with no text around."""
        return cls(TokenLists.of([]), np.zeros(count + 1, np.int64), np.zeros(count, np.int64))


@dataclass(frozen=True)
class SentenceTexts:
    """The sentences of N papers and of C contexts, as tokens; every sentence ends with the end token.

    Attributes:
        tokenizer: a Hugging Face tokenizer.
        abstracts: title and abstract sentences of all papers.
        abstract_indptr: (N + 1,) int64 where each paper's begin.
        bodies: body sentences of all papers, in order.
        body_indptr: (N + 1,) int64 where each paper's begin.
        body_positions: the position that each body sentence has in the store, ascending within a paper, with gaps.
        contexts: the texts of contexts whose own sentence is not among the bodies; other contexts have none here.
        context_citing: (C,) the paper of each context.
        context_positions: (C,) position of its sentence in the paper's body, -1 where unknown.
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

    def __len__(self) -> int:
        return len(self.abstract_indptr) - 1


class SentenceReader:
    """Makes tokens of sentences.

    Texts are tokenised in batches, in Rust; a text that spells a special token is read as ordinary characters.

    Args:
        tokenizer: a Hugging Face tokenizer with an end or a separator token.
        most: tokens of a sentence at most, the end token counted; what is longer is cut.

    Raises:
        ConfigError: the tokenizer has no token to end a sentence with.
    """

    def __init__(self, tokenizer: Any, most: int) -> None:
        self.tokenizer, self.most = tokenizer, most
        end = tokenizer.eos_token_id if tokenizer.eos_token_id is not None else tokenizer.sep_token_id
        if end is None:
            raise ConfigError(
                "the tokenizer has neither an end token nor a separator",
                hint="take one that has, as BERT's do",
            )
        self.end = int(end)
        # A copy of its own: truncation and padding that came with the tokenizer are state, and would meddle.
        self._rust = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self._rust.no_truncation()
        self._rust.no_padding()
        self._rust.encode_special_tokens = True

    def tokens(self, sentences: Sequence[str]) -> TokenLists:
        """One list of tokens each, the end token behind."""
        found = self._rust.encode_batch_fast(list(sentences), add_special_tokens=False)
        words = TokenLists.of([encoding.ids for encoding in found]).head(self.most - 1)
        n = len(words)
        end = TokenLists(np.array([self.end], np.int32), np.zeros(n, np.int64), np.ones(n, np.int64))
        return TokenLists.joined([words, end])

    def abstracts(
        self, titles: Iterable[str | None], abstracts: Iterable[str | None], *, title: bool = True
    ) -> tuple[TokenLists, NDArray[np.int64]]:
        """The title as a sentence (``title``) and the sentences of the abstract: of n papers, all tokens and (n + 1,)
        where each paper's sentences begin."""
        split = split_sentences(text or "" for text in abstracts)
        heads = [[text] if title and text and text.strip() else [] for text in titles]
        papers = [head + sentences for head, sentences in zip(heads, split, strict=True)]
        return self._runs(papers)

    def bodies(self, papers: Sequence[Sequence[str]]) -> tuple[TokenLists, NDArray[np.int64]]:
        """Body sentences without their citation marks: all tokens and (n + 1,) where each paper's begin."""
        return self._runs([[without_marks(sentence) for sentence in paper] for paper in papers])

    def surroundings(self, contexts: Iterable[str]) -> Surroundings:
        """Contexts with a gap that reads ``TARGETCIT`` or ``[CIT]``, as sentences; without a gap the middle one has it.

        Marks count as words while sentences are told apart, and are then taken out.
        """
        split = split_sentences(contexts)
        gaps = [
            next((i for i, sentence in enumerate(text) if _GAP.search(sentence)), max(len(text) - 1, 0) // 2)
            for text in split
        ]
        tokens, indptr = self.bodies(split)
        return Surroundings(tokens, indptr, np.array(gaps, np.int64))

    def _runs(self, texts: Sequence[Sequence[str]]) -> tuple[TokenLists, NDArray[np.int64]]:
        counts = np.fromiter(map(len, texts), np.int64, len(texts))
        return self.tokens([sentence for text in texts for sentence in text]), bounds(counts)


def stretches(
    counts: NDArray[np.integer], most: int, length: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which of each paper's sentences are kept: all, or stretches of neighbours spread evenly over the text.

    Args:
        counts: (n,) sentences of each paper.
        most: sentences kept of a paper at most; 0: all are kept.
        length: sentences of a stretch, where not all are kept.

    Returns:
        The paper, and the place in it, of every kept sentence, in order.
    """
    counts = np.asarray(counts, np.int64)
    length = max(min(length, most), 1)
    parts = most // length
    cut = (counts > most) & (most > 0)
    kept = np.where(cut, parts * length, counts)
    owner = np.repeat(np.arange(len(counts)), kept)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(kept) - kept, kept)
    if parts:
        part, within = np.divmod(place, length)
        place = np.where(cut[owner], part * counts[owner] // parts + within, place)
    return owner, place
