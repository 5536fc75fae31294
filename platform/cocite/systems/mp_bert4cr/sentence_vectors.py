"""A frozen trunk's vectors of the sentences that a training may draw: an artifact of the model folder, made once.

Making them is most of what a training with a trunk costs, so what an interrupted making has computed is taken up again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cocite.array_files import require_fit
from cocite.artifacts import load_array
from cocite.atomic_files import write_atomic
from cocite.bounds import Total
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContext, DynamicContextSettings
from cocite.systems.mp_bert4cr.hierarchical_transformer import HierarchicalEncoder
from cocite.systems.mp_bert4cr.sentence_texts import SentenceTextSettings, load_from_model_folder
from cocite.systems.mp_bert4cr.trunk import SentenceTrunk, load_backbone
from cocite.text.documents import bounds
from cocite.text.sentence_texts import SentenceTexts
from cocite.text.sentence_vectors import SentenceVectors
from cocite.text.token_lists import TokenLists, spans
from cocite.training.gaps import Gaps
from cocite.training.input_artifacts import (
    Advance,
    Stage,
    component_digests,
    determining_settings,
    find_input,
    make_input,
    open_input,
)
from cocite.training.periods import Periods

KIND = "sentence-vectors"
"""Kind of the artifact, and its name in a model folder."""
BLOCK = 4096
"""Sentences after which what was computed is safe."""
SAMPLE = 50_000
"""Vectors whose mean and deviation standardise all."""


class SentenceVectorSettings(Settings):
    """What determines the vectors, besides the corpus and the trunk's files.

    Example:
        >>> SentenceVectorSettings(texts=SentenceTextSettings(trunk={"encoder": "masked-lm"})).components
        ('masked-lm',)
    """

    texts: SentenceTextSettings = SentenceTextSettings()
    """The sentences, and their trunk."""
    contexts: DynamicContextSettings = DynamicContextSettings()
    """Which of them may be drawn; see :meth:`of`."""
    dev_contexts: Total = 1000
    """Contexts of the dev papers that are dev queries."""

    @classmethod
    def of(
        cls, texts: SentenceTextSettings, contexts: DynamicContextSettings, dev_contexts: int
    ) -> SentenceVectorSettings:
        """The settings of a recipe: trainings that may draw the same sentences share their vectors."""
        drawn = DynamicContextSettings(
            around=contexts.around,
            earlier=min(contexts.earlier, 1),
            abstract=max(contexts.abstract, contexts.manuscript_abstract),
            body=min(contexts.body, 1),
        )
        return cls(texts=texts, contexts=drawn, dev_contexts=dev_contexts)

    @property
    def components(self) -> tuple[str, ...]:
        """Artifacts of the model folder that they are made by."""
        return self.texts.components

    def fingerprints(self, model_folder: Path) -> dict[str, str]:
        """Of the trunk."""
        return self.texts.fingerprints(model_folder)


def prepare(
    settings: SentenceVectorSettings,
    corpus: Corpus,
    folder: Path,
    *,
    stage: Stage = lambda *_: None,
    advance: Advance = lambda _: None,
) -> bool:
    """Compute the vectors of all sentences that may be drawn, unless the folder already has them.

    What was computed is kept beside the folder until the artifact is complete, so an interrupted making goes on.

    Args:
        settings: of the sentences and the trunk.
        corpus: the papers.
        folder: the artifact's folder, beside which that of the sentences lies.
        stage: is called with the name of the step as it begins, and the number of sentences.
        advance: is called with the number of sentences that were just done.

    Returns:
        Whether they were made.

    Raises:
        NotFoundError: the sentences or the trunk are not there.
    """
    model_folder = folder.parent
    digests = component_digests(settings, model_folder)

    def write(to: Path) -> None:
        texts = load_from_model_folder(model_folder, corpus)
        wanted = np.flatnonzero(drawable(settings, corpus, texts))
        key = {"corpus": corpus.version, "settings": determining_settings(settings), **digests}
        work = _work_folder(folder, key)
        backbone, tokenizer = load_backbone(
            settings.texts.trunk, model_folder, settings.texts.sentence_tokens
        )
        trunk = SentenceTrunk(backbone, tokenizer)
        stage("sentence vectors", len(wanted))
        vectors = _compute(trunk, texts, wanted, work, advance)
        sample = np.asarray(vectors[:: max(1, len(vectors) // SAMPLE)], np.float32)
        # A component that is the same everywhere tells nothing, and must not be divided by 0.
        deviation = np.maximum(sample.std(0), 1e-6)
        np.save(
            to / "statistics.npy",
            np.stack([sample.mean(0), deviation]).astype(np.float32),
            allow_pickle=False,
        )
        rows = np.full(_count(texts), -1, np.int32)
        rows[wanted] = np.arange(len(wanted))
        np.save(to / "rows.npy", rows, allow_pickle=False)
        del vectors
        (work / "vectors.npy").rename(to / "vectors.npy")
        shutil.rmtree(work)

    return make_input(KIND, settings, corpus, folder, write, more=digests)


def load(
    model_folder: Path, corpus: Corpus, settings: SentenceVectorSettings, texts: SentenceTexts
) -> SentenceVectors:
    """The vectors that a model folder keeps, memory-mapped.

    Args:
        model_folder: keeps them.
        corpus: that is trained on.
        settings: of the vectors.
        texts: the sentences.

    Raises:
        NotFoundError: the folder keeps none.
        InputError: they were made of another corpus, with other settings, or by another trunk.
        IntegrityError: they do not fit the sentences.
    """
    folder = find_input(model_folder, KIND, lacking="sentence vectors to train on")
    manifest = open_input(folder, KIND, corpus, what="sentence vectors", settings=settings)
    digests = component_digests(settings, model_folder)
    if any(manifest.meta.get(name) != value for name, value in digests.items()):
        raise InputError(
            "the sentence vectors were made by another trunk",
            where=str(folder),
            hint="train with `cocite train`, which makes them anew",
        )
    rows, vectors, statistics = (
        load_array(folder / f"{name}.npy") for name in ("rows", "vectors", "statistics")
    )
    require_fit(
        rows.shape == (_count(texts),) and statistics.shape == (2, vectors.shape[1]),
        folder,
        to="the sentences",
    )
    mean, deviation = np.asarray(statistics)
    bodies = len(texts.abstracts)
    return SentenceVectors(rows, vectors, mean, deviation, bodies, bodies + len(texts.bodies))


R = TypeVar("R", bound=Settings)


def with_sentence_vectors(
    recipe: R, corpus: Corpus, model_folder: Path, texts: SentenceTexts
) -> tuple[R, SentenceTexts]:
    """A recipe with the width of its trunk's vectors, and the sentences with these; as they are without a trunk.

    Args:
        recipe: of fine-tuning or of pretraining; its ``sentence_vectors`` say which are read.
        corpus: that is trained on.
        model_folder: has the vectors.
        texts: of the corpus.

    Raises:
        NotFoundError: the model folder has none.
        InputError: they are of another corpus, other settings or another trunk.
    """
    read: Any = recipe
    if read.sentence_vectors is None:
        return recipe, texts
    vectors = load(model_folder, corpus, read.sentence_vectors, texts)
    model = read.model.model_copy(update={"trunk_width": vectors.width})
    return recipe.model_copy(update={"model": model}), replace(texts, vectors=vectors)


def standardise(encoder: HierarchicalEncoder, texts: SentenceTexts) -> None:
    """Have an encoder standardise a trunk's vectors as those of the training are; nothing where it reads none."""
    if encoder.trunk is not None and texts.vectors is not None:
        encoder.trunk.set_statistics(texts.vectors.mean, texts.vectors.deviation)


def drawable(settings: SentenceVectorSettings, corpus: Corpus, texts: SentenceTexts) -> NDArray[np.bool_]:
    """(S,) whether each sentence may be drawn, by an example of the training or by its dev metric.

    Read are: the first sentences of all abstracts; the bodies of all papers, where papers are read with theirs; of the
    papers of training and dev contexts the sentences up to the last that lies around a citation; and the texts of
    these contexts around the citation.
    """
    read, first = settings.contexts, len(texts.abstracts)
    result = np.zeros(_count(texts), bool)
    most = max(read.abstract, read.manuscript_abstract)
    indptr = np.asarray(texts.abstract_indptr, np.int64)
    result[spans(indptr[:-1], np.minimum(np.diff(indptr), most))] = True
    last = first + len(texts.bodies)
    if read.body:
        result[first:last] = True
    periods = Periods.of(corpus, settings.texts.period, all_dev=True)
    contexts = np.concatenate(
        [
            Gaps.known(periods.history).positions,
            Gaps.sample(corpus, periods.dev, settings.dev_contexts).positions,
        ]
    )
    ends = np.zeros(len(texts), np.int64)
    np.maximum.at(ends, texts.context_citing[contexts], DynamicContext(read, texts).body_ends(contexts))
    owner = np.repeat(np.arange(len(texts)), np.diff(texts.body_indptr))
    result[first:last] |= np.arange(len(owner)) < ends[owner]
    around = texts.contexts.take(contexts)
    middle = around.indptr[:-1] + around.gap
    low = np.maximum(middle - read.around, around.indptr[:-1])
    high = np.minimum(middle + read.around + 1, around.indptr[1:])
    assert around.numbers is not None
    result[last + around.numbers[spans(low, high - low)]] = True
    return result


def _count(texts: SentenceTexts) -> int:
    """S, the sentences of abstracts, bodies and contexts."""
    return len(texts.abstracts) + len(texts.bodies) + len(texts.contexts.sentences)


def _sentences(texts: SentenceTexts, numbers: NDArray[np.int64]) -> TokenLists:
    """The tokens of some sentences, whose numbers ascend."""
    sources = (texts.abstracts, texts.bodies, texts.contexts.sentences)
    first = bounds(np.array([len(source) for source in sources]))
    cuts = np.searchsorted(numbers, first)
    return TokenLists.stacked(
        [
            source.take(numbers[low:high] - start)
            for source, start, low, high in zip(sources, first, cuts, cuts[1:], strict=False)
        ]
    )


def _work_folder(folder: Path, key: dict[str, Any]) -> Path:
    """Where vectors lie until all are computed: one folder for each corpus, setting and trunk; others are removed."""
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
    work = folder.parent / f".{KIND}.{digest}.partial"
    for other in folder.parent.glob(f".{KIND}.*.partial"):
        if other != work:
            shutil.rmtree(other)
    work.mkdir(parents=True, exist_ok=True)
    return work


def _compute(
    trunk: SentenceTrunk, texts: SentenceTexts, wanted: NDArray[np.int64], work: Path, advance: Advance
) -> NDArray[np.float16]:
    """(n, t) the vectors of the wanted sentences, in a file; those that an earlier call computed are not again."""
    file, progress = work / "vectors.npy", work / "done.json"
    shape = (len(wanted), trunk.width)
    done = 0
    if file.is_file() and progress.is_file():
        done = int(json.loads(progress.read_text(encoding="utf-8"))["done"])
        vectors = np.lib.format.open_memmap(file, mode="r+")
        if vectors.shape != shape or vectors.dtype != np.float16:
            done = 0
    if not done:
        vectors = np.lib.format.open_memmap(file, mode="w+", dtype=np.float16, shape=shape)
    advance(done)
    for start in range(done, len(wanted), BLOCK):
        block = wanted[start : start + BLOCK]
        vectors[start : start + len(block)] = trunk.vectors(_sentences(texts, block))
        vectors.flush()
        write_atomic(progress, json.dumps({"done": start + len(block)}))
        advance(len(block))
    return vectors
