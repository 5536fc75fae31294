"""The tokens that a cross-encoder is trained on, as an artifact of the model folder, memory-mapped by all workers.

It has the tokens of the training and the dev queries, and of every paper that is one of their candidates or that they
cite, or of all papers where candidates are drawn from the whole corpus. It is made once, a block at a time, from the
candidates that lie beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.array_files import require_fit
from cocite.bounds import Location, Name
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.manifests import read_manifest
from cocite.nn.pretrained_transformers import load_tokenizer
from cocite.protocols import NO_ROW
from cocite.text.pair_tokenizer import PairSettings, PairTokenizer
from cocite.text.token_files import TokenListWriter, load_token_lists
from cocite.text.token_lists import TokenLists
from cocite.training import candidates
from cocite.training.candidates import CandidateSet, CandidateSettings
from cocite.training.input_artifacts import Advance, Stage, find_input, make_input, open_input

KIND = "pair-tokens"
"""Kind of the artifact, and its name in a model folder."""
CANDIDATES = "candidates"
"""The entry of the manifest that names the candidates."""
ENCODER = "encoder"
"""The setting that workers do not compare: the tokenizer decides, not where it was read."""
BLOCK = 4096
"""Texts that are in memory at a time."""


class PairTokenSettings(Settings):
    """What determines the tokens, besides the corpus.

    Example:
        >>> PairTokenSettings(encoder="bert", tokenizer="3f2a").pairs.total
        512
    """

    candidates: CandidateSettings = CandidateSettings()
    """Whose queries and papers are read."""
    pairs: PairSettings = PairSettings()
    """How long texts are cut."""
    encoder: Location
    """Name or folder of the encoder, whose tokenizer is used."""
    tokenizer: Name
    """Fingerprint of the tokenizer."""
    whole: bool = False
    """Whether every paper is read, as where candidates are drawn from the whole corpus; otherwise only those that are
    candidates or cited."""

    @classmethod
    def of(
        cls,
        candidates: CandidateSettings,
        encoder: str,
        pairs: PairTokenizer | PairSettings,
        *,
        whole: bool = False,
    ) -> PairTokenSettings:
        """The settings of a recipe, with the tokenizer of its encoder, or with one that is loaded already."""
        if isinstance(pairs, PairSettings):
            pairs = PairTokenizer(load_tokenizer(encoder), pairs)
        # Which index the candidates were found in changes nothing about them.
        candidates = candidates.model_copy(update={"index": None})
        return cls(
            candidates=candidates,
            pairs=pairs.settings,
            encoder=encoder,
            tokenizer=pairs.fingerprint,
            whole=whole,
        )


@dataclass(frozen=True)
class PairTokens:
    """The tokens of queries and of papers; all arrays are memory-mapped.

    Attributes:
        queries: for training and for dev, the tokens of each query's side of its pairs.
        papers: (N,) title and abstract of each paper; none of a paper that is neither a candidate nor cited, unless the
            settings say ``whole``.

    Example:
        >>> papers = TokenLists.of([[], [5, 6], [7]])
        >>> tokens = PairTokens({"train": TokenLists.of([[3, 4]]), "dev": TokenLists.of([])}, papers)
        >>> len(tokens.queries["train"]), tokens.papers[1].tolist()
        (1, [5, 6])
    """

    queries: Mapping[str, TokenLists]
    papers: TokenLists


def prepare(
    settings: PairTokenSettings,
    corpus: Corpus,
    folder: Path,
    *,
    stage: Stage = lambda *_: None,
    advance: Advance = lambda _: None,
) -> bool:
    """Make the tokens, unless the folder already has those of this corpus, these candidates and these settings.

    Args:
        settings: the candidates, and how texts are cut.
        corpus: the papers.
        folder: the artifact's folder, beside which that of the candidates lies.
        stage: is called with the name of each step as it begins, and its number of texts.
        advance: is called with the number of texts that were just done.

    Returns:
        Whether they were made.

    Raises:
        NotFoundError: the candidates are not there, or the encoder is not.
        InputError: the candidates are of another corpus, or the tokenizer cannot be used.
    """
    source = find_input(folder.parent, candidates.KIND, lacking="candidates to train on")

    def write(to: Path) -> None:
        parts = candidates.load(source, corpus)
        pairs = PairTokenizer(load_tokenizer(settings.encoder), settings.pairs)
        for name, part in parts.items():
            stage(f"tokens: {name} queries", len(part))
            with TokenListWriter(to, name, pairs.vocabulary_size) as writer:
                for start in range(0, len(part), BLOCK):
                    block = part.take(np.arange(start, min(start + BLOCK, len(part))))
                    writer.add(pairs.queries(block.queries(corpus)).head(settings.pairs.total))
                    advance(len(block))
        stage("tokens: papers", len(corpus))
        read = np.ones(len(corpus), bool) if settings.whole else _read_papers(corpus, parts)
        with TokenListWriter(to, "papers", pairs.vocabulary_size) as writer:
            for start in range(0, len(corpus), BLOCK):
                wanted = read[start : start + BLOCK]
                rows = start + np.flatnonzero(wanted)
                titles, abstracts = (corpus.papers.take(name, rows) for name in ("title", "abstract"))
                tokens = pairs.papers(titles, abstracts)
                starts, counts = np.zeros((2, len(wanted)), np.int64)
                starts[wanted], counts[wanted] = tokens.starts, tokens.counts
                writer.add(TokenLists(tokens.ids, starts, counts))
                advance(len(wanted))

    return make_input(KIND, settings, corpus, folder, write, more={CANDIDATES: read_manifest(source).digest})


def _read_papers(corpus: Corpus, parts: Mapping[str, CandidateSet]) -> NDArray[np.bool_]:
    """(N,) whether a paper is a candidate or cited."""
    read = np.zeros(len(corpus), bool)
    for part in parts.values():
        for start in range(0, len(part), BLOCK):
            rows = part.rows[start : start + BLOCK]
            read[rows[rows != NO_ROW]] = True
        read[part.cited.indices] = True
    return read


def load(model_folder: Path, corpus: Corpus, settings: PairTokenSettings) -> PairTokens:
    """The tokens that a model folder keeps of its candidates.

    Raises:
        NotFoundError: it keeps none.
        InputError: they were made of another corpus, of other candidates, or with other settings.
        IntegrityError: an array does not fit the others.
    """
    folder = find_input(model_folder, KIND, lacking="tokens to train on")
    manifest = open_input(folder, KIND, corpus, what="tokens", settings=settings, besides=(ENCODER,))
    source = find_input(model_folder, candidates.KIND, lacking="candidates to train on")
    found = read_manifest(source)
    if manifest.meta.get(CANDIDATES) != found.digest:
        raise InputError(
            "the tokens are of other candidates", where=str(folder), hint="remove them, to be made anew"
        )
    queries = {name: load_token_lists(folder, name) for name in candidates.PARTS}
    papers = load_token_lists(folder, "papers")
    for name, lists in queries.items():
        require_fit(len(lists) == found.meta["queries"][name], folder, of=name, to="the candidates")
    require_fit(len(papers) == len(corpus), folder, of="papers", to="the corpus")
    return PairTokens(queries, papers)
