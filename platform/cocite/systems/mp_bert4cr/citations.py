"""The citations that MP-BERT4CR is fine-tuned on, and what their draws need: an artifact, mapped by all workers.

It is made once, before workers start. A worker keeps none of it in memory, so its memory does not grow with the corpus.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cocite.array_files import require_fit
from cocite.artifacts import load_array
from cocite.bounds import Power, Total
from cocite.config import Settings
from cocite.corpus.context_links import ContextLinks
from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.sampling.noise import POWER, Count, NoiseDistribution, paper_counts
from cocite.systems.mp_bert4cr.cocitations import CocitationMasses
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContext, DynamicContextSettings
from cocite.systems.mp_bert4cr.sentence_texts import SentenceTextSettings, load_from_model_folder
from cocite.text.sentence_texts import SentenceReader, SentenceTexts
from cocite.text.token_files import TokenListWriter, load_token_lists
from cocite.text.token_lists import TokenLists
from cocite.training.gaps import Gaps
from cocite.training.input_artifacts import Advance, Stage, find_input, make_input, open_input
from cocite.training.periods import Periods

KIND = "citations"
"""Kind of the artifact, and its name in a model folder."""
NEAR = "near"
"""Name of the files of the words next to gaps."""
BLOCK = 8192
"""Contexts whose texts are in memory at a time."""


class CitationSettings(Settings):
    """What determines the artifact, besides the corpus.

    Example:
        >>> CitationSettings(drawn=7).counted
        'papers'
    """

    texts: SentenceTextSettings = SentenceTextSettings()
    """The sentences, whose lengths are counted, and the training period."""
    contexts: DynamicContextSettings = DynamicContextSettings()
    """Sentences that are read of a manuscript and of a paper."""
    dev_contexts: Total = 1000
    """Most dev queries."""
    positive_power: Power = POWER
    """Power of the co-citation frequencies (Eq. 1)."""
    negative_power: Power = POWER
    """Power of the citation counts (Eq. 2)."""
    counted: Count = "papers"
    """What Eq. 2 counts."""
    drawn: int = Field(0, ge=0, le=20_000)
    """Papers that are drawn for each example."""


@dataclass(frozen=True)
class Citations:
    """The citations in the training period's contexts, numbered: a context that cites three papers is three examples.

    Attributes:
        links: of all C contexts of the corpus.
        sentences: (C,) position of each context's sentence in the body of its paper, -1 where unknown.
        contexts: (n,) int64 the context of each example.
        targets: (n,) int32 the paper that it cites.
        lengths: (n,) int64 expected tokens of each: its manuscript, its target, and as many papers as it may draw.
        often: (N,) int32 how many examples have each paper as their target.
        cocitations: of the training period.
        noise: of the training period.
        dev: the dev queries.
        near: the words next to the gap of each of the corpus' contexts; None: they are not read.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.builder import build
        >>> from cocite.corpus.synth import Synthetic
        >>> from cocite.systems.mp_bert4cr import sentence_texts
        >>> texts = SentenceTextSettings.parse({"vocabulary": 400, "period": {"train_until": 2010}})
        >>> with tempfile.TemporaryDirectory() as name:
        ...     folder = Path(name)
        ...     corpus = build(Synthetic(60, seed=4, context_rate=2.0, sentences=True), folder / "corpus")
        ...     _ = sentence_texts.prepare(texts, corpus, folder / "sentence-texts")
        ...     _ = prepare(CitationSettings(texts=texts), corpus, folder / "citations")
        ...     citations = load(folder, corpus, CitationSettings(texts=texts))
        >>> len(citations) == len(citations.targets) == citations.often.sum()
        np.True_
    """

    links: ContextLinks
    sentences: NDArray[np.int32]
    contexts: NDArray[np.int64]
    targets: NDArray[np.int32]
    lengths: NDArray[np.int64]
    often: NDArray[np.int32]
    cocitations: CocitationMasses
    noise: NoiseDistribution
    dev: Gaps
    near: TokenLists | None = None

    def __len__(self) -> int:
        return len(self.contexts)


def prepare(
    settings: CitationSettings,
    corpus: Corpus,
    folder: Path,
    *,
    stage: Stage = lambda *_: None,
    advance: Advance = lambda _: None,
) -> bool:
    """Make the artifact, unless the folder already has that of this corpus and these settings.

    Args:
        settings: that determine it.
        corpus: the papers.
        folder: the artifact's folder, beside which that of the sentences lies.
        stage: is called with the name of the step as it begins, and the number of contexts.
        advance: is called with the number of contexts that were just done.

    Returns:
        Whether it was made.

    Raises:
        NotFoundError: the sentences are not there.
        InputError: no paper of the training period cites another, or none of the dev period does.
    """

    def write(to: Path) -> None:
        periods = Periods.of(corpus, settings.texts.period, all_dev=True)
        history, links = periods.history, ContextLinks.of(corpus)
        known = Gaps.known(history)
        stage("citations", len(known))
        owner, targets = known.cited.gather(np.arange(len(known)))
        dev = Gaps.sample(corpus, periods.dev, settings.dev_contexts)
        masses = CocitationMasses.of(history, settings.positive_power)
        noise = NoiseDistribution.of(paper_counts(history, settings.counted), settings.negative_power)
        texts = load_from_model_folder(folder.parent, corpus)
        if settings.contexts.near:
            texts = _with_near(settings, texts, corpus, to)
        arrays = {
            "contexts.citing": links.citing,
            "contexts.sentences": np.asarray(corpus.contexts.column("sentence"), np.int32),
            **_of_lists("contexts.cited", links.cited),
            "contexts": known.positions[owner],
            "targets": targets,
            "lengths": _lengths(settings, texts, known),
            "often": np.bincount(targets, minlength=len(corpus)).astype(np.int32),
            **_of_lists("cocitations", masses.pairs),
            "cocitations.masses": masses.masses,
            "cocitations.ends": masses.ends,
            "noise.rows": noise.rows,
            "noise.masses": noise.masses,
            "noise.ends": noise.ends,
            "dev.positions": dev.positions,
            "dev.citing": dev.citing,
            **_of_lists("dev.cited", dev.cited),
        }
        for name, array in arrays.items():
            np.save(to / f"{name}.npy", array, allow_pickle=False)
        advance(len(known))

    return make_input(KIND, settings, corpus, folder, write)


def _with_near(
    settings: CitationSettings, texts: SentenceTexts, corpus: Corpus, folder: Path
) -> SentenceTexts:
    """Write the words next to the gap of each context, and return the texts with them."""
    reader = SentenceReader(texts.tokenizer, settings.texts.sentence_tokens)
    with TokenListWriter(folder, NEAR, len(texts.tokenizer)) as writer:
        for start in range(0, len(corpus.contexts), BLOCK):
            rows = np.arange(start, min(start + BLOCK, len(corpus.contexts)))
            writer.add(reader.near(corpus.contexts.take("text", rows), settings.contexts.near))
    return with_near(texts, load_token_lists(folder, NEAR))


def with_near(texts: SentenceTexts, near: TokenLists | None) -> SentenceTexts:
    """The same texts with the words next to the gap of each context; None: without them."""
    return replace(texts, contexts=replace(texts.contexts, near=near))


def _of_lists(name: str, lists: CSR) -> dict[str, NDArray[Any]]:
    return {f"{name}.indptr": lists.indptr, f"{name}.indices": lists.indices}


def _lengths(settings: CitationSettings, texts: SentenceTexts, known: Gaps) -> NDArray[np.int64]:
    """(n,) expected tokens of each citation of some contexts."""
    documents = DynamicContext(settings.contexts, texts)
    papers = documents.paper_tokens()
    manuscripts = documents.context_tokens()[known.positions]
    result = np.repeat(manuscripts, known.cited.degrees)
    result += papers[known.cited.indices]
    result += settings.drawn * papers.mean()
    return result.astype(np.int64)


def load(model_folder: Path, corpus: Corpus, settings: CitationSettings) -> Citations:
    """The citations that a model folder keeps of a corpus; the arrays are memory-mapped.

    Raises:
        NotFoundError: it keeps none.
        InputError: they were made of another corpus, or with other settings.
        IntegrityError: an array does not fit the others.
    """
    folder = find_input(model_folder, KIND, lacking="citations to train on")
    open_input(folder, KIND, corpus, what="citations", settings=settings)

    def get(name: str) -> NDArray[Any]:
        # Plain arrays over the mapped files: indexing a ``numpy.memmap`` takes several times as long.
        return np.asarray(load_array(folder / f"{name}.npy"))

    def lists(name: str, count: int) -> CSR:
        found = CSR(get(f"{name}.indptr"), get(f"{name}.indices"))
        require_fit(len(found) == count and found.indptr[-1] == len(found.indices), folder, of=name)
        return found

    citing, positions = get("contexts.citing"), get("dev.positions")
    masses = CocitationMasses(
        lists("cocitations", len(corpus)), get("cocitations.masses"), get("cocitations.ends")
    )
    noise = NoiseDistribution(get("noise.rows"), get("noise.masses"), get("noise.ends"))
    found = Citations(
        ContextLinks(citing, lists("contexts.cited", len(corpus.contexts))),
        get("contexts.sentences"),
        get("contexts"),
        get("targets"),
        # Still a ``numpy.memmap``, by which the engine knows that a checkpoint need not hold them.
        load_array(folder / "lengths.npy"),
        get("often"),
        masses,
        noise,
        Gaps(positions, get("dev.citing"), lists("dev.cited", len(positions))),
        load_token_lists(folder, NEAR) if settings.contexts.near else None,
    )
    fits = (
        len(citing) == len(found.sentences) == len(corpus.contexts)
        and len(found.contexts) == len(found.targets) == len(found.lengths)
        and len(found.often) == len(corpus)
        and len(masses.masses) == len(masses.pairs.indices) == len(masses.ends) - 1
        and len(noise.rows) == len(noise.masses) == len(noise.ends)
        and (found.near is None or len(found.near) == len(citing))
        and len(found.dev.citing) == len(positions)
    )
    require_fit(fits, folder)
    return found
