"""Fine-tuning MP-BERT4CR: each citation with its own negatives as in the paper, or all papers of a step for all of its
contexts (section 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.protocols import NO_ROW, Ranking
from cocite.sampling.draws import Draws
from cocite.sampling.neighbours import nearest
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContext
from cocite.systems.mp_bert4cr.encoder import MpBert4crConfig, embed, save_mp_bert4cr
from cocite.systems.mp_bert4cr.examples import Batch, Citations, Drawn
from cocite.systems.mp_bert4cr.losses.euclidean_triplet import euclidean_triplet
from cocite.systems.mp_bert4cr.losses.mpt_src import mpt_src
from cocite.systems.mp_bert4cr.losses.mpt_src_tgt import mpt_src_tgt
from cocite.systems.mp_bert4cr.losses.mpt_tgt import mpt_tgt
from cocite.systems.mp_bert4cr.network import MpBert4cr
from cocite.systems.mp_bert4cr.recipe import MpBert4crRecipe
from cocite.text.documents import Documents
from cocite.text.sentence_texts import SentenceTexts
from cocite.training.engine.flops import layer_flops
from cocite.training.engine.task import Examples
from cocite.training.engine.world import World
from cocite.training.gaps import Gaps
from cocite.training.periods import Periods

LOSSES: dict[str, Callable[..., Tensor]] = {
    "triplet": euclidean_triplet,
    "mpt-tgt": mpt_tgt,
    "mpt-src": mpt_src,
    "mpt-src-tgt": mpt_src_tgt,
}
DEPTH = 10
"""Papers recommended, as in the paper's tables."""


class MpBert4crTask:
    """The paper's objective; see :class:`~cocite.training.engine.task.TrainTask`. An example: a citation in a context.

    Args:
        recipe: settings.
        periods: what is known, and who tunes.
        texts: of the corpus.
    """

    metric = "R@10"

    def __init__(self, recipe: MpBert4crRecipe, periods: Periods, texts: SentenceTexts) -> None:
        torch.manual_seed(recipe.training.seed)
        self.recipe, self.texts = recipe, texts
        self.citations = Citations(recipe, periods, texts)
        self.dev = Gaps.sample(periods.history.corpus, periods.dev, recipe.dev_contexts)
        read = recipe.contexts
        quick = read.model_copy(update={"body": min(read.body, recipe.dev_body), "fixed": True})
        self.read_at_dev = DynamicContext(quick, texts)
        self.model = MpBert4cr(recipe.model, len(texts.tokenizer))
        objective = recipe.objective
        self.of_distances = LOSSES[objective.loss]
        if objective.loss == "triplet":
            self.of_distances = partial(euclidean_triplet, margin=objective.margin)
        self._lengths: NDArray[np.int64] | None = None

    def lengths(self, epoch: int) -> NDArray[np.int64]:  # noqa: ARG002  (the same in every epoch)
        """(n,) about how many tokens each example has."""
        if self._lengths is None:
            self._lengths = self.citations.lengths()
        return self._lengths

    def collate(self, examples: Examples, epoch: int) -> Batch:
        """The documents of some examples, each distinct paper once."""
        return self.citations.batch(examples, epoch)

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """(b,) the loss of each example, with its own negatives."""
        drawn, device = batch.drawn, batch.papers.ids.device
        vectors = model(batch.manuscripts, batch.papers, layers=batch.layers)
        with torch.autocast(device.type, enabled=False):
            manuscripts, papers = vectors[: len(drawn.contexts)], vectors[len(drawn.contexts) :]
            positives, positive = _gathered(papers, drawn.papers, drawn.positives)
            negatives, negative = _gathered(papers, drawn.papers, drawn.negatives)
            targets, _ = _gathered(papers, drawn.papers, drawn.targets)
            return self.of_distances(manuscripts, targets, positives, positive, negatives, negative)

    def vectors(
        self,
        encode: Callable[[Documents], Tensor],
        documents: Callable[[NDArray[np.int64]], Documents],
        count: int,
        world: World,
    ) -> NDArray[np.float32]:
        """(count, d) unit vectors of the first ``count`` documents; each rank computes its share."""
        mine = np.arange(count)[world.share(count)]
        found = embed(encode, documents, mine, self.recipe.model.hidden, world.device)
        return world.concatenate(torch.from_numpy(found).to(world.device)).cpu().numpy()

    def evaluate(self, model: nn.Module, world: World) -> dict[str, float]:
        """R@10 and MAP@10 of the dev contexts among all papers but the citing one; R@10 of those that cite several."""
        read, dev = self.read_at_dev, self.dev
        papers = self.vectors(
            lambda documents: model(None, documents),
            lambda some: read.papers(some, Draws(0, 0, some)),
            len(self.texts),
            world,
        )
        queries = self.vectors(
            lambda documents: model(documents, None),
            lambda some: read.contexts(dev.positions[some], Draws(0, 0, dev.positions[some])),
            len(dev),
            world,
        )
        with torch.autocast(world.device.type, enabled=False):
            found = nearest(queries, papers, DEPTH, exclude=dev.citing)
        return recommendation_metrics(found, dev)

    def refresh(self, model: nn.Module, world: World, step: int) -> None:
        """Nothing is mined."""

    def state(self) -> Mapping[str, Tensor]:
        """Nothing is made as training goes."""
        return {}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Takes back nothing."""

    def flops(self, batch: Batch) -> float:
        """Of both levels of both encoders; what is counted is the layers' alone."""
        if not batch.layers:
            return 0.0
        s = self.recipe.model
        return 3 * sum(
            layers
            * layer_flops(
                float(lengths.sum()), float(lengths.double().square().sum()), hidden=s.hidden, inner=s.inner
            )
            for documents in (batch.manuscripts, batch.papers)
            for layers, lengths in (
                (s.sentence_layers, documents.lengths),
                (s.document_layers, documents.document_lengths),
            )
        )

    def export(self, folder: Path, meta: Mapping[str, Any]) -> None:
        """Write the model folder."""
        recipe = self.recipe
        config = MpBert4crConfig(
            model=recipe.model,
            contexts=recipe.contexts,
            sentence_tokens=recipe.texts.sentence_tokens,
            title=recipe.texts.title,
        )
        save_mp_bert4cr(folder, self.model, self.texts.tokenizer, config, meta)


class SharedNegativesTask(MpBert4crTask):
    """All papers of a step serve all of its contexts; see :class:`~cocite.training.engine.task.ContrastiveTask`."""

    def embed(self, model: nn.Module, batch: Batch) -> Tensor:
        """(b + c, d) vectors of a piece's manuscripts and papers."""
        vectors: Tensor = model(batch.manuscripts, batch.papers, layers=batch.layers)
        return vectors

    def contrast(self, vectors: Tensor, pieces: Sequence[Examples], epoch: int) -> Tensor:
        """(b,) the loss of each example of a step."""
        return self._losses(vectors, [self.citations.draw(piece, epoch) for piece in pieces])

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """(b,) the losses of a batch that is a step by itself."""
        return self._losses(self.embed(model, batch), [batch.drawn])

    def _losses(self, vectors: Tensor, drawn: Sequence[Drawn]) -> Tensor:
        counts = [count for piece in drawn for count in (len(piece.contexts), len(piece.papers))]
        parts: tuple[Tensor, ...] = vectors.split(counts)  # type: ignore[no-untyped-call]
        # A paper of several pieces was embedded in each of them: the first vector stands for it.
        rows, first = np.unique(np.concatenate([piece.papers for piece in drawn]), return_index=True)
        papers = torch.cat(parts[1::2])[torch.from_numpy(first).to(vectors.device)]
        contexts, targets, positives = (
            np.concatenate([getattr(piece, name) for piece in drawn])
            for name in ("contexts", "targets", "positives")
        )
        allowed = ~self.citations.citations.forbidden(contexts[:, None], rows[None], positives[:, None])
        found, held = _gathered(papers, rows, positives)
        return self.of_distances(
            torch.cat(parts[::2]),
            _gathered(papers, rows, targets)[0],
            found,
            held,
            papers,
            torch.from_numpy(allowed).to(vectors.device),
            torch.from_numpy(self.citations.weights(rows)).to(vectors.device),
        )


def _gathered(vectors: Tensor, rows: NDArray[np.int32], wanted: NDArray[np.int32]) -> tuple[Tensor, Tensor]:
    """The vectors (..., d) of wanted papers, given those of ``rows``; and (...) bool, where there is a paper."""
    held = wanted != NO_ROW
    place = np.searchsorted(rows, np.where(held, wanted, rows[0]))
    found = vectors[torch.from_numpy(place).to(vectors.device)]
    return found, torch.from_numpy(held).to(vectors.device)


def recommendation_metrics(found: Ranking, queries: Gaps) -> dict[str, float]:
    """R@10 and MAP@10 of contexts, as MP-BERT4CR's Table 3 has them; R@10 of those that cite two papers or more.

    Args:
        found: (Q, 10) papers, best first.
        queries: Q contexts and what they cite.
    """
    numbers = np.arange(len(found))
    hits = queries.cited.contains(numbers[:, None], found.rows) & (found.rows != NO_ROW)
    count = queries.cited.degrees
    recall = hits.sum(1) / count
    precision = hits.cumsum(1) / np.arange(1, hits.shape[1] + 1)
    average = (precision * hits).sum(1) / np.minimum(count, DEPTH)
    several = count > 1
    return {
        f"R@{DEPTH}": float(recall.mean()),
        f"MAP@{DEPTH}": float(average.mean()),
        f"R@{DEPTH} of several": float(recall[several].mean()) if several.any() else 0.0,
    }
