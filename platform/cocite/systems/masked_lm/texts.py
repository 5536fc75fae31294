"""A corpus' own texts as pieces of tokens, to pretrain an encoder on: titles, abstracts, body sentences.

The vocabulary is made of the training period's texts, and both are an artifact: made once, read by every worker.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from transformers import AutoTokenizer

from cocite.artifacts import load_array, publish
from cocite.bounds import TextLength, TextLengthOrNone, Total
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError
from cocite.manifests import holds
from cocite.text.gaps import strip_marks
from cocite.text.paper_text import paper_text
from cocite.text.token_lists import TokenLists
from cocite.text.wordpiece import train_wordpiece
from cocite.training.periods import Periods, PeriodSettings
from cocite.verification import open_verified_once

KIND = "pretraining-texts"
BLOCK = 512
"""Papers whose texts are in memory at a time."""
_BODY_MARK = re.compile(r"\[\[CIT:\d+\]\]")

Advance = Callable[[int], object]


class TextSettings(Settings):
    """Which texts, in which pieces."""

    period: PeriodSettings = PeriodSettings()
    """Papers of the training period are read; those of the dev period measure."""
    body: TextLengthOrNone = 40
    """Sentences of each body at most, taken in stretches from all of it; 0: titles and abstracts alone."""
    vocabulary: int = Field(16_000, ge=300, le=10_000_000)
    """Word pieces at most."""
    lowercase: bool = True
    """Whether case is dropped."""
    sequence: int = Field(128, ge=16, le=65_536)
    """Tokens of an example at most, the special ones included."""
    least: TextLength = 8
    """A piece of fewer tokens is left out."""
    dev_pieces: Total = 1000
    """Dev examples at most, drawn evenly."""

    @model_validator(mode="after")
    def _possible(self) -> TextSettings:
        if self.least > self.sequence - 2:
            raise ValueError(f"least is {self.least}, and a sequence has room for {self.sequence - 2} tokens")
        return self


@dataclass(frozen=True)
class Texts:
    """What is pretrained on.

    Attributes:
        tokenizer: a Hugging Face tokenizer.
        train, dev: pieces of texts, without special tokens.
    """

    tokenizer: Any
    train: TokenLists
    dev: TokenLists


STRETCH = 5
"""Body sentences that stay together."""


def texts_of(corpus: Corpus, rows: NDArray[np.integer[Any]], body: int) -> Iterator[list[str]]:
    """The texts of some papers, by blocks: title and abstract, then the chosen sentences, citation marks taken out."""
    for start in range(0, len(rows), BLOCK):
        some = rows[start : start + BLOCK]
        titles, abstracts = corpus.papers.take("title", some), corpus.papers.take("abstract", some)
        texts = [paper_text(*pair) for pair in zip(titles, abstracts, strict=True)]
        if body:
            chosen = [_chosen(corpus.sentence_indptr, row, body) for row in some.tolist()]
            found = corpus.sentences.take("text", np.concatenate(chosen))
            ends = np.cumsum([len(places) for places in chosen]).tolist()
            texts = [
                f"{text} {strip_marks(_BODY_MARK.sub(' ', ' '.join(found[end - len(places) : end])))}"
                for text, places, end in zip(texts, chosen, ends, strict=True)
            ]
        yield texts


def _chosen(indptr: NDArray[np.int64], row: int, most: int) -> NDArray[np.int64]:
    """Positions of a paper's sentences: all, or stretches spread over the body."""
    places = np.arange(indptr[row], indptr[row + 1])
    if len(places) <= most:
        return places
    stretch = min(STRETCH, most)
    starts = np.linspace(0, len(places) - stretch, most // stretch).astype(np.int64)
    return np.asarray(places[np.unique(starts[:, None] + np.arange(stretch))])


def pieces(tokens: TokenLists, settings: TextSettings) -> TokenLists:
    """Texts cut into pieces of even length that fit into an example; no token is copied."""
    room = settings.sequence - 2
    count = -(-tokens.counts // room)
    owner = np.repeat(np.arange(len(tokens)), count)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    first = tokens.counts[owner] * number // count[owner]
    last = tokens.counts[owner] * (number + 1) // count[owner]
    found = TokenLists(tokens.ids, tokens.starts[owner] + first, last - first)
    return found.take(np.flatnonzero(found.counts >= settings.least))


def prepare(
    settings: TextSettings,
    corpus: Corpus,
    folder: Path,
    *,
    stage: Callable[[str, int], object] = lambda *_: None,
    advance: Advance = lambda _: None,
) -> bool:
    """Make vocabulary and pieces, unless the folder holds those of this corpus and these settings already.

    Args:
        settings: which texts.
        corpus: the papers.
        folder: where the artifact is or is to be.
        stage: told what begins, and of how many papers it is.
        advance: told how many papers are done.

    Returns:
        Whether they were made.

    Raises:
        InputError: the papers of a period have no text.
    """
    meta = {"corpus": corpus.version, "settings": settings.model_dump(mode="json")}
    if holds(folder, kind=KIND, meta=meta):
        return False
    periods = Periods.of(corpus, settings.period)
    rows: dict[str, NDArray[np.integer[Any]]] = {
        "train": np.flatnonzero(periods.history.citing),
        "dev": periods.dev,
    }
    with publish(folder, kind=KIND, meta=meta, replace=folder.exists()) as temporary:
        stage("texts: vocabulary", 2 * len(rows["train"]))

        def texts() -> Iterator[str]:
            for block in texts_of(corpus, rows["train"], settings.body):
                yield from block
                advance(len(block))

        tokenizer = train_wordpiece(texts, settings.vocabulary, lowercase=settings.lowercase)
        tokenizer.save_pretrained(temporary)
        for name, papers in rows.items():
            stage(f"texts: {name} papers", len(papers))
            found = pieces(_tokens(tokenizer, corpus, papers, settings.body, advance), settings)
            if name == "dev" and len(found) > settings.dev_pieces:
                found = found.take(np.linspace(0, len(found) - 1, settings.dev_pieces).astype(np.int64))
            if not len(found):
                raise InputError(f"no paper of the {name} period has text enough", where=str(corpus.path))
            kept = TokenLists.joined([found])
            np.save(temporary / f"{name}.ids.npy", kept.ids, allow_pickle=False)
            np.save(temporary / f"{name}.counts.npy", kept.counts, allow_pickle=False)
    return True


def _tokens(
    tokenizer: Any, corpus: Corpus, rows: NDArray[np.integer[Any]], body: int, advance: Advance
) -> TokenLists:
    """One list of tokens a paper."""
    blocks = []
    for texts in texts_of(corpus, rows, body):
        found = tokenizer.backend_tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        blocks.append(TokenLists.of([encoding.ids for encoding in found]))
        advance(len(texts))
    return TokenLists.stacked(blocks)


def load(folder: Path, corpus: Corpus) -> Texts:
    """Read what :func:`prepare` made.

    Raises:
        InputError: it was made of another corpus.
        IntegrityError: an array does not fit the others.
    """
    manifest = open_verified_once(folder, kind=KIND)
    if manifest.meta.get("corpus") != corpus.version:
        raise InputError(
            "the texts are of another corpus", where=str(folder), hint="remove them, to be made anew"
        )
    parts = {}
    for name in ("train", "dev"):
        ids, counts = load_array(folder / f"{name}.ids.npy"), load_array(folder / f"{name}.counts.npy")
        if len(ids) != counts.sum():
            raise IntegrityError("the arrays do not fit each other", where=str(folder), hint="make them anew")
        parts[name] = TokenLists(ids, np.cumsum(counts) - counts, np.asarray(counts))
    return Texts(AutoTokenizer.from_pretrained(str(folder)), parts["train"], parts["dev"])
