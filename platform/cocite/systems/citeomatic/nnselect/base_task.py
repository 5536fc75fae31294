"""The part of NNSelect's training that both objectives share (Citeomatic, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.corpus.csr import CSR
from cocite.nn.pretrained_vectors import read_vectors
from cocite.sampling.neighbours import nearest
from cocite.systems.citeomatic.negatives import CiteomaticNegatives
from cocite.systems.citeomatic.nnselect.encoder import save_nnselect
from cocite.systems.citeomatic.nnselect.network import FieldTexts, NNSelect
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.citeomatic.paper_words import text_words
from cocite.systems.citeomatic.word_bags import TokenBags, embedding_penalty
from cocite.text.fields import TEXT, FieldEncoder
from cocite.training.engine.gathering import one_copy
from cocite.training.engine.optimizers import ParameterGroup
from cocite.training.engine.world import World
from cocite.training.measure import ranking_metrics
from cocite.training.periods import Periods


class NNSelectTask:
    """The part of the task that both objectives share; see :class:`~cocite.training.engine.task.TrainTask`.

    The examples of an epoch are drawn together, in the order in which steps take them, from the seed, the epoch, the
    size of a step and what was last mined: the same however many workers share them.

    Args:
        recipe: settings.
        periods: what is known, and the dev queries.
        fields: numbers the words.

    Attributes:
        model: NNSelect.
        negatives: draws papers that a query does not cite.
        texts: of all papers, as the model reads them.
        sizes: (N,) words of each of them.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.systems.citeomatic.nnselect.task import build
        >>> task = build(NNSelectRecipe.parse({"model": {"dimension": 8}}), starter_corpus())
        >>> task.vectors().shape
        (423, 8)
        >>> task.refresh(task.model, World(), step=0)
        >>> len(task.negatives.neighbours.indices) > 0
        True
    """

    metric = "R@20"
    is_ordered = True

    def __init__(self, recipe: NNSelectRecipe, periods: Periods, fields: FieldEncoder) -> None:
        torch.manual_seed(recipe.training.seed)
        self.recipe, self.periods, self.fields = recipe, periods, fields
        corpus, history = periods.history.corpus, periods.history
        self.bags = fields.papers(corpus)
        vocabulary = fields.vocabularies["words"]
        self.model = NNSelect(
            len(vocabulary),
            recipe.model.dimension,
            sparse=recipe.training.is_lazy,
            encoder=recipe.model.encoder,
            window=recipe.model.window,
        )
        self.texts: FieldTexts = fields.paper_sequences(corpus) if self.model.reads_order else self.bags
        self.sizes: NDArray[np.int64] = np.sum(
            [TokenBags.of(self.texts[field]).offsets.diff().numpy() for field in TEXT], axis=0, dtype=np.int64
        )
        if recipe.model.initial_magnitude == "idf":
            idf = vocabulary.inverse_document_frequency(int(history.citing.sum()))
            self.model.words.magnitude.data[:, 0] = torch.from_numpy(idf / idf.mean())
        if recipe.model.pretrained:
            known, start = read_vectors(recipe.model.pretrained, vocabulary, recipe.model.dimension)
            self.model.words.direction.data[torch.from_numpy(known)] = torch.from_numpy(start[known])
            self.model.words.direction.requires_grad_(recipe.model.finetune)
        self.negatives = CiteomaticNegatives(
            history, text_words(fields, corpus, self.bags), len(vocabulary), recipe.negatives
        )

    # -- what the engine asks ----------------------------------------------------------------------------------

    def parameter_groups(self) -> Sequence[ParameterGroup]:
        """The word vectors, whose gradients are sparse unless the optimizer steps all of their rows."""
        words = frozenset({"words.magnitude", "words.direction"})
        return [ParameterGroup(words, sparse=self.recipe.training.is_lazy)]

    def refresh(self, model: nn.Module, world: World, step: int) -> None:  # noqa: ARG002
        """Find each query's neighbours with the present weights."""
        self.negatives.refresh(self.vectors(world), world)

    @property
    def mining_metrics(self) -> Mapping[str, float]:
        """The recall of the search for neighbours, where it is not exhaustive."""
        return self.negatives.metrics

    def mined(self) -> Mapping[str, Tensor]:
        """The neighbours."""
        table = self.negatives.neighbours
        return {"indptr": torch.from_numpy(table.indptr), "indices": torch.from_numpy(table.indices)}

    def load_mined(self, mined: Mapping[str, Tensor]) -> None:
        """Take the neighbours back."""
        self.negatives.neighbours = CSR(mined["indptr"].numpy(), mined["indices"].numpy())

    def state(self) -> Mapping[str, Tensor]:
        """Empty: neighbours are not kept in checkpoints."""
        return {}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Does nothing, see :meth:`state`."""

    def vectors(self, world: World | None = None) -> NDArray[np.float32]:
        """(N, d) unit vectors of all papers with the present weights; each rank encodes a part of them.

        The ranks of a machine map one copy.
        """
        world = world or World()
        # The engine evaluates under autocast, and in bf16 many papers would be equally near.
        with torch.autocast(world.device.type, enabled=False):
            mine = self.model.encode(self.texts, rows=world.share(len(self.sizes)))
        return one_copy(mine, world)

    def evaluate(self, model: nn.Module, world: World) -> dict[str, float]:  # noqa: ARG002
        """Metrics of the dev queries, by cosine to all papers: those at 20, MRR, and as ``recall`` R@100."""
        vectors, dev = self.vectors(world), self.periods.dev
        with torch.autocast(world.device.type, enabled=False):
            ranking = nearest(vectors[dev], vectors, 100, exclude=dev, device=world.device)
        return ranking_metrics(ranking, dev, self.periods.history.corpus.cites)

    def export(self, folder: Path, meta: Mapping[str, Any]) -> None:
        """Write the encoder; ``epoch`` is how many passes its weights have seen, which NNRank's folds repeat."""
        epoch = -(-int(meta["step"]) // self.steps)
        save_nnselect(folder, self.model, self.fields, {**meta, "epoch": epoch})

    @property
    def steps(self) -> int:
        """About how many optimizer steps an epoch has."""
        settings = self.recipe.objective
        links = int(self.negatives.cites.degrees[self.negatives.queries].sum())
        count = settings.triplets if settings.objective == "paper" else links
        return -(-count // self.recipe.training.batch)

    # -- what the objectives share -----------------------------------------------------------------------------

    def bags_of(self, rows: NDArray[np.int32]) -> tuple[TokenBags, TokenBags]:
        """Titles and abstracts of some papers."""
        title, abstract = (TokenBags.of(self.texts[field], rows) for field in TEXT)
        return title, abstract

    def embed_papers(self, model: nn.Module, title: TokenBags, abstract: TokenBags) -> tuple[Tensor, Tensor]:
        """(n, d) vectors of a batch's papers, and the regularisation of the word vectors that they used."""
        settings = self.recipe.objective
        vectors, words = model(title, abstract, settings.word_dropout)
        if not settings.l1 and not settings.l2:
            return vectors, vectors.new_zeros(())
        return vectors, embedding_penalty(words, l1=settings.l1, l2=settings.l2)

    def rng(self, epoch: int) -> np.random.Generator:
        """The generator that draws an epoch's examples."""
        return np.random.default_rng([self.recipe.training.seed, epoch + 1])
