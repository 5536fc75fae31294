"""The citations that a bi-encoder is trained on, and its dev queries, as tokens: an artifact of the model folder.

A citation is a query and one paper that it cites. A local query is a citation context, a global one the title and
abstract of the citing paper. Texts are cut into tokens once, before workers start, and mapped by all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from tokenizers import Tokenizer

from cocite.array_files import require_fit
from cocite.artifacts import load_array
from cocite.bounds import Location, Name, Total
from cocite.config import Settings
from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.nn.pretrained_transformers import load_tokenizer
from cocite.text.gaps import strip_marks
from cocite.text.paper_text import paper_text
from cocite.text.token_files import TokenListWriter, load_token_lists
from cocite.text.token_lists import TokenLists
from cocite.training.gaps import Gaps
from cocite.training.input_artifacts import Advance, Stage, find_input, make_input, open_input
from cocite.training.periods import Periods, PeriodSettings

KIND = "citation-tokens"
"""Kind of the artifact, and its name in a model folder."""
ENCODER = "encoder"
"""The setting that workers do not compare: the tokenizer decides, not where it was read."""
BLOCK = 4096
"""Texts that are in memory at a time."""
NO_CONTEXT = -1
"""The context of a citation whose query is the citing paper's title and abstract."""


class CitationTextSettings(Settings):
    """Which citations are trained on, and how texts are cut.

    Example:
        >>> CitationTextSettings(task="both").max_tokens
        128
    """

    task: Literal["local", "global", "both"] = "local"
    """``local``: contexts are the queries; ``global``: titles and abstracts of citing papers; ``both``: dev queries are
    contexts then."""
    max_tokens: int = Field(128, ge=8, le=8192)
    """Tokens of a text that are read, the special ones included; what is longer is cut."""
    dev_queries: Total = 1000
    """Most dev queries, drawn evenly."""


class CitationTokenSettings(Settings):
    """What determines the tokens, besides the corpus.

    Example:
        >>> CitationTokenSettings(encoder="bert", tokenizer="3f2a").texts.task
        'local'
    """

    period: PeriodSettings = PeriodSettings()
    texts: CitationTextSettings = CitationTextSettings()
    encoder: Location
    """Name or folder of the encoder, whose tokenizer is used."""
    tokenizer: Name
    """Fingerprint of the tokenizer."""

    @classmethod
    def of(
        cls,
        period: PeriodSettings,
        texts: CitationTextSettings,
        encoder: str,
        tokenizer: Any | None = None,
    ) -> CitationTokenSettings:
        """The settings of a recipe, with the tokenizer of its encoder, or with one that is loaded already."""
        tokenizer = load_tokenizer(encoder) if tokenizer is None else tokenizer
        return cls(period=period, texts=texts, encoder=encoder, tokenizer=_fingerprint(tokenizer))


def _fingerprint(tokenizer: Any) -> str:
    """16 hexadecimal digits of vocabulary and rules, without the limits that calls leave in a tokenizer."""
    rules = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    rules.no_truncation()
    rules.no_padding()
    return hashlib.sha256(rules.to_str().encode()).hexdigest()[:16]


@dataclass(frozen=True)
class DevQueries:
    """Queries whose cited papers are known.

    Attributes:
        citing: (D,) the papers that they are of.
        contexts: (D,) the number of each query's text among those of :class:`CitationTokens`, or ``NO_CONTEXT``.
        cited: for each, the papers it cites.

    Example:
        >>> queries = DevQueries(np.array([4]), np.array([NO_CONTEXT]), CSR.build([0, 0], [1, 2], 1))
        >>> queries.cited[0].tolist()
        [1, 2]
    """

    citing: NDArray[np.int32]
    contexts: NDArray[np.int64]
    cited: CSR


@dataclass(frozen=True)
class CitationTokens:
    """The citations and the tokens of all texts; arrays are memory-mapped.

    Attributes:
        papers: (N,) title and abstract of each paper, special tokens included.
        contexts: the contexts that are trained on, then those of dev queries.
        citing: (E,) the citing paper of each citation that is trained on.
        context: (E,) the number of its context, or ``NO_CONTEXT``.
        cited: (E,) the paper that is cited.
        dev: the dev queries.

    Example:
        >>> papers, none = TokenLists.of([[2, 5, 3], [2, 6, 3]]), TokenLists.of([])
        >>> dev = DevQueries(np.array([1]), np.array([NO_CONTEXT]), CSR.build([0], [0], 1))
        >>> tokens = CitationTokens(papers, none, np.array([1]), np.array([NO_CONTEXT]), np.array([0]), dev)
        >>> tokens.queries(tokens.citing, tokens.context)[0].tolist()  # the query is the citing paper's own text
        [2, 6, 3]
    """

    papers: TokenLists
    contexts: TokenLists
    citing: NDArray[np.int32]
    context: NDArray[np.int64]
    cited: NDArray[np.int32]
    dev: DevQueries

    def queries(self, citing: NDArray[np.integer[Any]], contexts: NDArray[np.int64]) -> TokenLists:
        """The texts of queries: contexts, and papers' own texts where there is ``NO_CONTEXT``."""
        whole = contexts == NO_CONTEXT
        papers, texts = self.papers.take(citing[whole]), self.contexts.take(contexts[~whole])
        stacked = TokenLists.stacked([TokenLists.joined([papers]), TokenLists.joined([texts])])
        place = np.empty(len(contexts), np.int64)
        place[whole] = np.arange(len(papers))
        place[~whole] = len(papers) + np.arange(len(texts))
        return stacked.take(place)


def prepare(
    settings: CitationTokenSettings,
    corpus: Corpus,
    folder: Path,
    *,
    stage: Stage = lambda *_: None,
    advance: Advance = lambda _: None,
) -> bool:
    """Make the tokens, unless the folder already has those of this corpus and these settings.

    Args:
        settings: the citations, and how texts are cut.
        corpus: the papers.
        folder: the artifact's folder.
        stage: is called with the name of each step as it begins, and its number of texts.
        advance: is called with the number of texts that were just done.

    Returns:
        Whether they were made.

    Raises:
        InputError: the corpus has no contexts and the task is local, or no citation to train or to tune on.
    """

    def write(to: Path) -> None:
        periods = Periods.of(corpus, settings.period, all_dev=True)
        tokenizer = load_tokenizer(settings.encoder)
        local, whole = settings.texts.task != "global", settings.texts.task != "local"
        known = Gaps.known(periods.history) if local else Gaps.joined([])
        dev = _dev(corpus, periods, settings.texts)
        owner, cited = known.cited.gather(np.arange(len(known)))
        citing, context = [known.citing[owner]], [owner]
        rows = [cited]
        if whole:
            papers = np.flatnonzero(periods.history.citing)
            link, linked = periods.history.cites.gather(papers)
            citing.append(papers[link].astype(np.int32))
            context.append(np.full(len(link), NO_CONTEXT, np.int64))
            rows.append(linked)
        arrays: dict[str, NDArray[Any]] = {
            "citing": np.concatenate(citing).astype(np.int32),
            "context": np.concatenate(context).astype(np.int64),
            "cited": np.concatenate(rows).astype(np.int32),
            "dev.citing": dev.citing,
            "dev.contexts": np.where(dev.contexts == NO_CONTEXT, NO_CONTEXT, len(known) + dev.contexts),
            "dev.indptr": dev.cited.indptr,
            "dev.indices": dev.cited.indices,
        }
        if not len(arrays["cited"]) or not len(dev.citing):
            lacking = "train" if not len(arrays["cited"]) else "dev"
            raise InputError(
                f"no {settings.texts.task} query of the {lacking} period cites a paper of the corpus",
                where=str(corpus.path),
                hint="task=global needs no contexts",
            )
        for name, array in arrays.items():
            np.save(to / f"{name}.npy", array, allow_pickle=False)
        positions = np.concatenate([known.positions, dev.positions])
        texts = {
            "papers": (len(corpus), _papers(corpus)),
            "contexts": (len(positions), _contexts(corpus, positions)),
        }
        for name, (count, blocks) in texts.items():
            stage(f"tokens: {name}", count)
            with TokenListWriter(to, name, len(tokenizer)) as writer:
                for block in blocks:
                    writer.add(tokenized(tokenizer, block, settings.texts.max_tokens))
                    advance(len(block))

    return make_input(KIND, settings, corpus, folder, write)


def tokenized(tokenizer: Any, texts: Sequence[str], limit: int) -> TokenLists:
    """The tokens of texts as a sentence encoder reads them, special ones included."""
    found = tokenizer(
        list(texts),
        truncation=True,
        max_length=limit,
        return_attention_mask=False,
        return_token_type_ids=False,
    )["input_ids"]
    return TokenLists.of(found)


@dataclass(frozen=True)
class _Dev(DevQueries):
    """Dev queries whose texts are not read yet: ``contexts`` are numbers among ``positions``."""

    positions: NDArray[np.int64]


def _dev(corpus: Corpus, periods: Periods, settings: CitationTextSettings) -> _Dev:
    """The dev queries: contexts, or papers where the task is global."""
    if settings.task != "global":
        gaps = Gaps.sample(corpus, periods.dev, settings.dev_queries)
        return _Dev(gaps.citing, np.arange(len(gaps)), gaps.cited, gaps.positions)
    papers = periods.dev[corpus.cites.degrees[periods.dev] > 0]
    if len(papers) > settings.dev_queries:
        papers = papers[np.linspace(0, len(papers) - 1, settings.dev_queries).astype(np.int64)]
    owner, cited = corpus.cites.gather(papers)
    none = np.zeros(0, np.int64)
    return _Dev(papers, np.full(len(papers), NO_CONTEXT), CSR.build(owner, cited, len(papers)), none)


def _papers(corpus: Corpus) -> Iterator[list[str]]:
    """Title and abstract of all papers, a block at a time."""
    for start in range(0, len(corpus), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(corpus)))
        titles, abstracts = (corpus.papers.take(name, rows) for name in ("title", "abstract"))
        yield [paper_text(*pair) for pair in zip(titles, abstracts, strict=True)]


def _contexts(corpus: Corpus, positions: NDArray[np.int64]) -> Iterator[list[str]]:
    """The texts of some contexts without their citation marks, a block at a time."""
    for start in range(0, len(positions), BLOCK):
        yield [strip_marks(text) for text in corpus.contexts.take("text", positions[start : start + BLOCK])]


def load(model_folder: Path, corpus: Corpus, settings: CitationTokenSettings) -> CitationTokens:
    """The tokens that a model folder keeps of a corpus.

    Raises:
        NotFoundError: it keeps none.
        InputError: they were made of another corpus, or with other settings.
        IntegrityError: an array does not fit the others.
    """
    folder = find_input(model_folder, KIND, lacking="citations to train on")
    open_input(folder, KIND, corpus, what="tokens", settings=settings, besides=(ENCODER,))
    arrays = {
        name: load_array(folder / f"{name}.npy")
        for name in ("citing", "context", "cited", "dev.citing", "dev.contexts", "dev.indptr", "dev.indices")
    }
    papers, contexts = load_token_lists(folder, "papers"), load_token_lists(folder, "contexts")
    indptr, indices = arrays["dev.indptr"], arrays["dev.indices"]
    fits = (
        len(papers) == len(corpus)
        and len(arrays["citing"]) == len(arrays["context"]) == len(arrays["cited"])
        and len(arrays["dev.citing"]) == len(arrays["dev.contexts"]) == len(indptr) - 1
        and indptr[-1] == len(indices)
    )
    require_fit(fits, folder)
    dev = DevQueries(arrays["dev.citing"], arrays["dev.contexts"], CSR(indptr, indices))
    return CitationTokens(papers, contexts, arrays["citing"], arrays["context"], arrays["cited"], dev)
