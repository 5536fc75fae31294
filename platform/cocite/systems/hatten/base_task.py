"""Shared part of HAtten's objectives: examples, mining, dev metrics, export (Gu et al. 2022, sections 4.3 and 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.array_files import scratch_array, scratch_numbers
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW
from cocite.sampling.draws import uniform
from cocite.sampling.random_papers import RandomPapers
from cocite.systems.hatten.encoder import embed, save_hatten
from cocite.systems.hatten.examples import NO_CONTEXT, Batch, CorpusParagraphs, Sample
from cocite.systems.hatten.flops import forward_flops
from cocite.systems.hatten.mining import MinedPapers, mine
from cocite.systems.hatten.network import Documents, Hatten
from cocite.systems.hatten.recipe import HattenRecipe
from cocite.systems.hatten.texts import HattenTexts
from cocite.text.paragraph_reader import ParagraphReader
from cocite.text.paragraphs import SPECIAL
from cocite.training.bundles import Bundles
from cocite.training.engine.gathering import one_copy
from cocite.training.engine.task import Examples
from cocite.training.engine.watch import Watch
from cocite.training.engine.world import World
from cocite.training.forbidden_negatives import ForbiddenNegatives
from cocite.training.measure import ranking_metrics
from cocite.training.nearest_encoded import nearest_encoded

BLOCK = 1 << 18
"""Examples whose lengths are added up at a time."""
DOCUMENTS = 512
"""Documents that a CPU reads between two looks at what is wished; a GPU, which wants long passes, reads 4,096."""


class HattenTask:
    """A :class:`~cocite.training.engine.task.TrainTask` without its loss: an example has contexts of one citing paper.

    Args:
        recipe: settings.
        corpus: the papers.
        texts: of the corpus, with its training and dev contexts.
        vectors: (W, d) initial word vectors.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.builder import build as build_corpus
        >>> from cocite.corpus.synth import Synthetic
        >>> from cocite.systems.hatten.texts import prepare
        >>> from cocite.systems.hatten.task import build
        >>> recipe = HattenRecipe.parse({"words": {"source": "random"}, "period": {"train_until": 2010}})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build_corpus(Synthetic(60, seed=4, context_rate=2.0), Path(folder, "corpus"))
        ...     _ = prepare(recipe.texts, corpus, Path(folder, "hatten-texts"))
        ...     task = build(recipe, corpus, Path(folder))
        >>> sample = task.sample(np.array([0]), epoch=0)
        >>> np.unique(task.gaps.citing[sample.contexts]).size  # all contexts of an example are of one paper
        1
    """

    metric = "R@100"

    def __init__(
        self, recipe: HattenRecipe, corpus: Corpus, texts: HattenTexts, vectors: NDArray[np.float32]
    ) -> None:
        torch.manual_seed(recipe.training.seed)
        self.recipe, self.reader = recipe, texts.reader
        reader, self.gaps, self.dev = texts.reader, texts.gaps, texts.dev
        self.texts = CorpusParagraphs(texts.paragraphs, texts.papers, recipe.model)
        self._words = texts.words
        # Only papers of the training period are asked about, all links of which are known. So the store's mapped links
        # serve, and no copy of the known ones is made.
        later, self._spares = recipe.objective.later, recipe.objective.spare_manuscript
        self.forbidden = ForbiddenNegatives(
            History.all(corpus),
            later=later != "used",
            contexts=None if self._spares else (self.gaps.citing, self.gaps.cited),
        )
        self.random = RandomPapers(self.forbidden.years, later=later != "not_drawn")
        self.mined_papers: MinedPapers | None = None
        self.mining_metrics: Mapping[str, float] = {}
        self.watch = Watch()
        self.model = Hatten(reader.size, recipe.model)
        self.model.set_words(torch.from_numpy(vectors), word_weights(reader))
        self.model.words.weight.requires_grad_(recipe.words.trained)
        self._bundles: tuple[int, Bundles] | None = None
        self._lengths: tuple[int, NDArray[np.int64]] | None = None
        self._lock = Lock()

    def queries(self, contexts: NDArray[np.int64]) -> NDArray[np.integer[Any]]:
        """(n,) what :attr:`forbidden` knows some training contexts by: their papers, or their own numbers."""
        return self.gaps.citing[contexts] if self._spares else contexts

    # -- examples ---------------------------------------------------------------------------------------------

    def begin_epoch(self, epoch: int, world: World) -> None:
        """Make the epoch's bundles and lengths, of which the ranks of a machine map one copy."""
        self._bundles = self._lengths = None  # the tables of two epochs are not there at once
        bundles = self._bundled(epoch, world)
        self._bundles = (epoch, bundles)
        share = world.share(len(bundles))
        self._lengths = (epoch, one_copy(self._lengths_of(bundles, share), world))

    def _bundled(self, epoch: int, world: World) -> Bundles:
        size, seed = self.recipe.objective.contexts, self.recipe.training.seed
        return Bundles(self.gaps.citing, size, seed=seed, epoch=epoch, world=world)

    def bundles(self, epoch: int) -> Bundles:
        """The contexts of each example of an epoch; kept for the epoch, as threads of the loader ask for them."""
        with self._lock:
            if self._bundles is None or self._bundles[0] != epoch:
                self._bundles = None
                self._bundles = (epoch, self._bundled(epoch, World()))
            return self._bundles[1]

    def lengths(self, epoch: int) -> NDArray[np.int64]:
        """(n,) words of each example: its contexts, citing paper, cited papers, and as many more as are drawn.

        The drawn papers are counted with the mean length of a paper.
        """
        if self._lengths is not None and self._lengths[0] == epoch:
            return self._lengths[1]
        bundles = self.bundles(epoch)
        return self._lengths_of(bundles, slice(0, len(bundles)))

    def _lengths_of(self, bundles: Bundles, examples: slice) -> NDArray[np.int64]:
        """(n,) the lengths of some examples, in a temporary file."""
        texts, settings = self.texts, self.recipe.objective
        mean = texts.paragraphs.indptr[2 * texts.papers] / max(texts.papers, 1)
        drawn = int((settings.mined + settings.random) * mean)
        result = bundles.sums(self._words, examples)
        for start in range(examples.start, examples.stop, BLOCK):
            block = np.arange(start, min(start + BLOCK, examples.stop))
            citing = texts.lengths(texts.parts_of_papers(bundles.citing(block)))
            result[block - examples.start] += citing + drawn * bundles.degrees(block)
        return result

    def sample(self, examples: Examples, epoch: int) -> Sample:
        """Queries and papers of some examples: a function of seed, epoch, their numbers, and what was last mined."""
        settings = self.recipe.objective
        owner, contexts = self.bundles(epoch).gather(examples)
        numbers = uniform(self.recipe.training.seed, epoch, contexts, 1 + settings.mined + settings.random)
        pair, cited = self.gaps.cited.gather(contexts)
        mined = np.full((len(contexts), settings.mined), NO_ROW, np.int32)
        relevant = np.zeros(mined.shape, bool)
        if self.mined_papers is not None and settings.mined:
            mined, relevant = self.mined_papers.draw(contexts, numbers[:, 1 : 1 + settings.mined])
        random = self.random.draw(self.gaps.citing[contexts], numbers[:, 1 + settings.mined :])
        papers = np.unique(np.concatenate([cited, mined.ravel(), random.ravel()]))
        read = numbers[:, 0] >= settings.context_dropout
        return Sample(contexts, read, owner, pair, cited, mined, relevant, random, papers[papers != NO_ROW])

    def collate(self, examples: Examples, epoch: int) -> Batch:
        """The documents of some examples."""
        sample = self.sample(examples, epoch)
        contexts = np.where(sample.read, sample.contexts, NO_CONTEXT)
        queries = self.texts.parts_of_queries(self.gaps.citing[sample.contexts], contexts)
        papers = self.texts.parts_of_papers(sample.papers)
        attend = epoch >= self.recipe.objective.bag_epochs
        return Batch(self.texts.documents(queries, papers), sample, attend)

    # -- dev metrics ------------------------------------------------------------------------------------------

    def vectors(
        self,
        model: nn.Module,
        world: World,
        citing: NDArray[np.int32],
        contexts: NDArray[np.int64] | None,
        *,
        blocks: Callable[[NDArray[np.float32]], Iterable[slice]] | None = None,
    ) -> NDArray[np.float32]:
        """(n, d) vectors of queries, or of papers where no contexts are given; each rank computes its share.

        They lie in a temporary file; the ranks of a machine map one copy of all.

        Args:
            model: the model with its present weights.
            world: who shares the work.
            citing: (n,) papers, or the citing papers of contexts.
            contexts: (n,) numbers of contexts; None: the papers themselves.
            blocks: divides the (n, d) array of this rank's vectors, and may fill a part of it; None: it is one block.
        """
        own = world.share(len(citing))
        share = scratch_numbers(own.start, own.stop)
        nothing = np.zeros((0, 3), np.int64)

        def parts(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
            if contexts is None:
                return self.texts.parts_of_papers(citing[numbers])
            return self.texts.parts_of_queries(citing[numbers], contexts[numbers])

        def documents(numbers: NDArray[np.int64]) -> Documents:
            found = parts(numbers)
            if contexts is None:
                return self.texts.documents(nothing, found)
            return self.texts.documents(found, nothing)

        def lengths(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
            return self.texts.lengths(parts(numbers))

        dimension = self.recipe.model.dimension
        into = scratch_array((len(share), dimension), np.float32)
        for block in [slice(None)] if blocks is None else blocks(into):
            embed(model, documents, lengths, share[block], dimension, world.device, into=into[block])
        return one_copy(into, world)

    def evaluate(self, model: nn.Module, world: World) -> dict[str, float]:
        """MRR and recall of the dev contexts, among all papers but the citing one."""
        contexts = len(self.gaps) + np.arange(len(self.dev))
        queries = self.vectors(model, world, self.dev.citing, contexts)
        alone = World(device=world.device)
        ranking = nearest_encoded(
            queries,
            lambda rows: self.vectors(model, alone, rows, None),
            self.texts.papers,
            1000,
            exclude=self.dev.citing,
            world=world,
        )
        numbers = np.arange(len(queries), dtype=np.int32)
        metrics = {"MRR": ranking_metrics(ranking, numbers, self.dev.cited)["MRR"]}
        for depth in (10, 100, 1000):
            metrics[f"R@{depth}"] = ranking_metrics(ranking.top(depth), numbers, self.dev.cited)["recall"]
        return metrics

    # -- mining -----------------------------------------------------------------------------------------------

    def refresh(self, model: nn.Module, world: World, step: int) -> None:  # noqa: ARG002
        """Mine each context's papers with the current weights, if examples draw mined papers."""
        settings = self.recipe.objective
        if not settings.mined:
            return

        size = DOCUMENTS if world.device.type == "cpu" else 8 * DOCUMENTS

        def blocks(what: str, total: int) -> Callable[[NDArray[np.float32]], Iterable[slice]]:
            return lambda into: self.watch.filled(what, into, size=size, total=total, world=world)

        numbers, total = scratch_numbers(0, self.texts.papers, np.int32), len(self.gaps)
        papers = self.vectors(model, world, numbers, None, blocks=blocks("mining: papers", len(numbers)))
        own = world.share(total)
        contexts, citing = scratch_numbers(own.start, own.stop), self.gaps.citing[own]
        # A world of one: these are this rank's share already.
        alone, each = World(device=world.device), blocks("mining: contexts", total)
        queries = self.vectors(model, alone, citing, contexts, blocks=each)
        rows, self.mining_metrics = mine(
            *(queries, citing if self._spares else contexts, papers, self.forbidden, settings.depth),
            total=total,
            settings=settings.search,
            world=world,
            watch=self.watch,
        )
        # Each rank compares the words of its own contexts: that takes longer than to search them.
        relevant = self.relevant(contexts, rows, world)
        self.mined_papers = MinedPapers(one_copy(rows, world), one_copy(relevant, world))

    def relevant(
        self,
        contexts: NDArray[np.int64],
        rows: NDArray[np.int32],
        world: World,  # noqa: ARG002
    ) -> NDArray[np.bool_]:
        """(e, K) which of the papers mined for this rank's contexts are positives; none, unless a subclass decides."""
        return scratch_array((len(contexts), rows.shape[1]), bool)

    def mined(self) -> Mapping[str, Tensor]:
        """The mined papers, which are kept beside the checkpoints."""
        if self.mined_papers is None:
            return {}
        return {
            "rows": torch.from_numpy(self.mined_papers.rows),
            "relevant": torch.from_numpy(self.mined_papers.relevant),
        }

    def load_mined(self, mined: Mapping[str, Tensor]) -> None:
        """Restore the mined papers from :meth:`mined`."""
        self.mined_papers = MinedPapers(mined["rows"].numpy(), mined["relevant"].numpy()) if mined else None

    def state(self) -> Mapping[str, Tensor]:
        """Empty: mined papers are not kept in checkpoints."""
        return {}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Does nothing, see :meth:`state`."""

    # -- cost and export --------------------------------------------------------------------------------------

    def flops(self, batch: Batch) -> float:
        """Floating-point operations of both levels, and of the pooling that ends each."""
        model, documents = self.recipe.model, batch.documents
        if not (model.attention and (batch.attend or not model.bag)):
            return 0.0
        return 3 * forward_flops(model, documents.lengths.cpu(), (documents.parts > 0).sum(1).cpu())

    def export(self, folder: Path, meta: Mapping[str, Any]) -> None:
        """Write the encoder as an artifact."""
        save_hatten(folder, self.model, self.reader, meta)


def word_weights(reader: ParagraphReader) -> Tensor:
    """(W,) inverse document frequencies of a reader's words, 1 on average; marks and unknown words have 1."""
    counts = reader.vocabulary.counts
    idf = reader.vocabulary.inverse_document_frequency(int(counts.max(initial=1)))
    weights = np.ones(reader.size, np.float32)
    weights[SPECIAL : SPECIAL + len(idf)] = idf / max(float(idf.mean()), 1e-6) if len(idf) else idf
    return torch.from_numpy(weights)


def to_device(array: NDArray[Any], device: torch.device) -> Tensor:
    """An array as a tensor on a device."""
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)
