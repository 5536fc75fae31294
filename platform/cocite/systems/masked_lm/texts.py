"""A corpus' own texts as pieces of tokens, to pretrain an encoder on: titles, abstracts, body sentences.

The vocabulary is made of the training period's texts. Vocabulary and pieces are an artifact of the model folder, made
once and read by every worker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from transformers import AutoTokenizer

from cocite.bounds import TextLength, TextLengthOrNone, Total
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.text.gaps import strip_marks
from cocite.text.paper_text import paper_text
from cocite.text.token_files import TokenListWriter, load_token_lists
from cocite.text.token_lists import TokenLists
from cocite.text.wordpiece import train_wordpiece
from cocite.training.input_artifacts import Advance, Stage, find_input, make_input, open_input
from cocite.training.periods import Periods, PeriodSettings

KIND = "pretraining-texts"
"""Kind of the artifact, and its name in a model folder."""
BLOCK = 512
"""Papers whose texts are in memory at a time."""
_BODY_MARK = re.compile(r"\[\[CIT:\d+\]\]")


class TextSettings(Settings):
    """The texts that are read, and how they are cut into pieces.

    Example:
        >>> TextSettings(vocabulary=8000).sequence
        128
        >>> TextSettings.parse({"sequence": 16, "least": 20})
        Traceback (most recent call last):
        cocite.errors.ConfigError: least is 20, and a sequence has room for 14 tokens
    """

    period: PeriodSettings = PeriodSettings()
    """Papers of the training period are trained on; those of the dev period give the dev metric."""
    body: TextLengthOrNone = 40
    """Most sentences of each body, taken in stretches from all of it; 0: titles and abstracts alone."""
    vocabulary: int = Field(16_000, ge=300, le=10_000_000)
    """Most word pieces."""
    lowercase: bool = True
    """Whether case is dropped."""
    sequence: int = Field(128, ge=16, le=65_536)
    """Most tokens of an example, the special ones included."""
    least: TextLength = 8
    """A piece of fewer tokens is left out."""
    dev_pieces: Total = 1000
    """Most dev examples, drawn evenly."""

    @model_validator(mode="after")
    def _possible(self) -> TextSettings:
        if self.least > self.sequence - 2:
            raise ValueError(f"least is {self.least}, and a sequence has room for {self.sequence - 2} tokens")
        return self


@dataclass(frozen=True)
class PretrainingTexts:
    """The pieces of text of a pretraining.

    Attributes:
        tokenizer: a Hugging Face tokenizer.
        train: pieces of the training period, without special tokens.
        dev: pieces of the dev period.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = prepare(TextSettings(vocabulary=500), starter_corpus(), Path(folder, "texts"))
        ...     texts = load(Path(folder, "texts"), starter_corpus())
        >>> len(texts.train) > len(texts.dev) > 0, texts.tokenizer.decode(texts.train[0])[:12]
        (True, 'on relevance')
    """

    tokenizer: Any
    train: TokenLists
    dev: TokenLists


STRETCH = 5
"""Neighbouring body sentences that stay together."""


def paper_texts(corpus: Corpus, rows: NDArray[np.integer[Any]], body: int) -> Iterator[list[str]]:
    """The texts of papers, in blocks: title, abstract and the chosen body sentences, without citation marks.

    Args:
        corpus: the papers.
        rows: (n,) the papers that are read.
        body: most sentences of each body.
    """
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        titles, abstracts = corpus.papers.take("title", block), corpus.papers.take("abstract", block)
        texts = [paper_text(*pair) for pair in zip(titles, abstracts, strict=True)]
        if body:
            chosen = [_chosen(corpus.sentence_indptr, row, body) for row in block.tolist()]
            sentences = corpus.sentences.take("text", np.concatenate(chosen))
            ends = np.cumsum([len(part) for part in chosen]).tolist()
            texts = [
                f"{text} {strip_marks(_BODY_MARK.sub(' ', ' '.join(sentences[end - len(part) : end])))}"
                for text, part, end in zip(texts, chosen, ends, strict=True)
            ]
        yield texts


def _chosen(indptr: NDArray[np.int64], row: int, most: int) -> NDArray[np.int64]:
    """The rows of a paper's sentences in the store: all, or stretches spread over the body."""
    rows = np.arange(indptr[row], indptr[row + 1])
    if len(rows) <= most:
        return rows
    stretch = min(STRETCH, most)
    starts = np.linspace(0, len(rows) - stretch, most // stretch).astype(np.int64)
    return np.asarray(rows[np.unique(starts[:, None] + np.arange(stretch))])


def cut_pieces(tokens: TokenLists, settings: TextSettings) -> TokenLists:
    """Texts cut into pieces of even length that fit into an example; no token is copied.

    A piece of fewer than ``settings.least`` tokens is left out.
    """
    room = settings.sequence - 2
    count = -(-tokens.counts // room)
    owner = np.repeat(np.arange(len(tokens)), count)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    first = tokens.counts[owner] * number // count[owner]
    last = tokens.counts[owner] * (number + 1) // count[owner]
    pieces = TokenLists(tokens.ids, tokens.starts[owner] + first, last - first)
    return pieces.take(np.flatnonzero(pieces.counts >= settings.least))


def prepare(
    settings: TextSettings,
    corpus: Corpus,
    folder: Path,
    *,
    stage: Stage = lambda *_: None,
    advance: Advance = lambda _: None,
) -> bool:
    """Make vocabulary and pieces, unless the folder already has those of this corpus and these settings.

    Args:
        settings: the texts and how they are cut.
        corpus: the papers.
        folder: the artifact's folder.
        stage: is called with the name of each step as it begins, and its number of papers.
        advance: is called with the number of papers that were just done.

    Returns:
        Whether they were made.

    Raises:
        InputError: the papers of a period have no text.
    """

    def write(to: Path) -> None:
        periods = Periods.of(corpus, settings.period)
        rows: dict[str, NDArray[np.integer[Any]]] = {
            "train": np.flatnonzero(periods.history.citing),
            "dev": periods.dev,
        }
        stage("texts: vocabulary", 2 * len(rows["train"]))

        def texts() -> Iterator[str]:
            for block in paper_texts(corpus, rows["train"], settings.body):
                yield from block
                advance(len(block))

        tokenizer = train_wordpiece(texts, settings.vocabulary, lowercase=settings.lowercase)
        tokenizer.save_pretrained(to)
        for name, papers in rows.items():
            stage(f"texts: {name} papers", len(papers))
            blocks = _pieces(tokenizer, corpus, papers, settings, advance)
            if name == "dev":
                pieces = TokenLists.stacked(list(blocks))
                if len(pieces) > settings.dev_pieces:
                    evenly = np.linspace(0, len(pieces) - 1, settings.dev_pieces)
                    pieces = pieces.take(evenly.astype(np.int64))
                blocks = iter([pieces])
            with TokenListWriter(to, name, len(tokenizer)) as writer:
                for block in blocks:
                    writer.add(block)
            if not writer.length:
                raise InputError(f"no paper of the {name} period has text enough", where=str(corpus.path))

    return make_input(KIND, settings, corpus, folder, write)


def _pieces(
    tokenizer: Any, corpus: Corpus, rows: NDArray[np.integer[Any]], settings: TextSettings, advance: Advance
) -> Iterator[TokenLists]:
    """The pieces of some papers, a block of papers at a time."""
    for texts in paper_texts(corpus, rows, settings.body):
        encodings = tokenizer.backend_tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        yield cut_pieces(TokenLists.of([encoding.ids for encoding in encodings]), settings)
        advance(len(texts))


def load_from_model_folder(model_folder: Path, corpus: Corpus) -> PretrainingTexts:
    """The texts that a model folder keeps of a corpus.

    Raises:
        NotFoundError: it keeps none.
    """
    return load(find_input(model_folder, KIND, lacking="texts to pretrain on"), corpus)


def load(folder: Path, corpus: Corpus) -> PretrainingTexts:
    """Read an artifact of :func:`prepare`; the arrays are memory-mapped.

    Raises:
        InputError: it was made of another corpus.
        IntegrityError: an array does not fit the others.
    """
    open_input(folder, KIND, corpus, what="texts")
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    return PretrainingTexts(tokenizer, load_token_lists(folder, "train"), load_token_lists(folder, "dev"))
