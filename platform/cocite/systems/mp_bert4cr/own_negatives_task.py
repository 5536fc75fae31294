"""Fine-tuning MP-BERT4CR as in the paper: each citation is compared with negatives of its own (section 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW, Ranking
from cocite.sampling.draws import Draws
from cocite.systems.mp_bert4cr.citations import Citations
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContext
from cocite.systems.mp_bert4cr.encoder import MpBert4crConfig, embed, save_mp_bert4cr
from cocite.systems.mp_bert4cr.examples import Batch, CitationExamples
from cocite.systems.mp_bert4cr.flops import forward_flops
from cocite.systems.mp_bert4cr.hierarchy_share import HierarchyShare, hierarchy_share
from cocite.systems.mp_bert4cr.losses import loss_of
from cocite.systems.mp_bert4cr.network import MpBert4cr
from cocite.systems.mp_bert4cr.recipe import MpBert4crRecipe
from cocite.systems.mp_bert4cr.trunk import save_backbone
from cocite.text.documents import Documents
from cocite.text.sentence_texts import SentenceTexts
from cocite.training.engine.task import Examples
from cocite.training.engine.world import World
from cocite.training.gaps import Gaps
from cocite.training.nearest_encoded import nearest_encoded

DEPTH = 10
"""Papers recommended, as in the paper's tables."""
SHARED = 256
"""Dev manuscripts on which it is measured how much the hierarchy counts."""


class MpBert4crTask:
    """A :class:`~cocite.training.engine.task.TrainTask` with the paper's objective: an example is a citation.

    Args:
        recipe: settings.
        corpus: the papers.
        citations: the examples, and the dev queries.
        texts: of the corpus.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.builder import build as build_corpus
        >>> from cocite.corpus.synth import Synthetic
        >>> from cocite.systems.mp_bert4cr import citations, sentence_texts
        >>> from cocite.systems.mp_bert4cr.task import build
        >>> shape = {"sentence_layers": 1, "document_layers": 1, "hidden": 8, "heads": 2, "inner": 16}
        >>> texts = {"vocabulary": 400, "period": {"train_until": 2010}}
        >>> recipe = MpBert4crRecipe.parse({"texts": texts, "model": shape})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build_corpus(Synthetic(60, seed=4, context_rate=2.0, sentences=True), Path(folder, "corpus"))
        ...     _ = sentence_texts.prepare(recipe.texts, corpus, Path(folder, "sentence-texts"))
        ...     _ = citations.prepare(recipe.citations, corpus, Path(folder, "citations"))
        ...     task = build(recipe, corpus, Path(folder))
        >>> task.loss(task.model, task.collate(np.arange(4), 0)).shape
        torch.Size([4])
    """

    metric = "R@10"

    def __init__(
        self, recipe: MpBert4crRecipe, corpus: Corpus, citations: Citations, texts: SentenceTexts
    ) -> None:
        torch.manual_seed(recipe.training.seed)
        self.recipe, self.texts = recipe, texts
        self.examples = CitationExamples(recipe, corpus, citations, texts)
        self.dev = citations.dev
        read = recipe.contexts
        # The same sentences at each evaluation, so that its metrics differ by the weights alone.
        body = read.body if recipe.dev_body is None else min(read.body, recipe.dev_body)
        dev_context = read.model_copy(update={"body": body, "fixed": True})
        self.dev_documents = DynamicContext(dev_context, texts)
        self.model = MpBert4cr(recipe.model, len(texts.tokenizer))
        objective = recipe.objective
        self.objective = loss_of(objective.loss, objective.form, margin=objective.margin)
        self.model_folder = Path()  # of the trunk; set by what builds the task

    # -- examples and loss ------------------------------------------------------------------------------------

    def lengths(self, epoch: int) -> NDArray[np.int64]:  # noqa: ARG002  (the same in every epoch)
        """(n,) expected tokens of each example."""
        return self.examples.citations.lengths

    def collate(self, examples: Examples, epoch: int) -> Batch:
        """The documents of some examples, each distinct paper once."""
        return self.examples.batch(examples, epoch)

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """(b,) the loss of each example, with its own negatives."""
        sample, device = batch.sample, batch.papers.ids.device
        vectors = model(batch.manuscripts, batch.papers, layers=batch.layers)
        with torch.autocast(device.type, enabled=False):
            manuscripts, papers = vectors[: len(sample.contexts)], vectors[len(sample.contexts) :]
            positives, positive_mask = gather(papers, sample.papers, sample.positives)
            negatives, negative_mask = gather(papers, sample.papers, sample.negatives)
            targets, _ = gather(papers, sample.papers, sample.targets)
            return self.objective(manuscripts, targets, positives, positive_mask, negatives, negative_mask)

    # -- dev metrics ------------------------------------------------------------------------------------------

    def vectors(
        self,
        encode: Callable[[Documents], Tensor],
        documents: Callable[[NDArray[np.int64]], Documents],
        numbers: NDArray[np.int64],
        device: torch.device,
    ) -> NDArray[np.float32]:
        """(n, d) unit vectors of some documents, given what encodes and what makes them."""
        return embed(encode, documents, numbers, self.recipe.model.hidden, device)

    def evaluate(self, model: nn.Module, world: World) -> dict[str, float]:
        """R@10 and MAP@10 of the dev contexts among all papers but the citing one; R@10 of those that cite several."""
        read, dev, device = self.dev_documents, self.dev, world.device

        def manuscripts(rows: NDArray[np.int64]) -> Documents:
            return read.contexts(dev.positions[rows], Draws(0, 0, dev.positions[rows]))

        def papers(rows: NDArray[np.int64]) -> Documents:
            return read.papers(rows, Draws(0, 0, rows))

        share = np.arange(len(dev))[world.share(len(dev))]
        queries = self.vectors(lambda documents: model(documents, None), manuscripts, share, device)
        ranking = nearest_encoded(
            world.concatenate(torch.from_numpy(queries).to(device)).cpu().numpy(),
            lambda rows: self.vectors(
                lambda documents: model(None, documents), papers, rows.astype(np.int64), device
            ),
            len(self.texts),
            DEPTH,
            exclude=dev.citing,
            world=world,
        )
        return recommendation_metrics(ranking, dev)

    # -- the rest of the protocol -----------------------------------------------------------------------------

    def refresh(self, model: nn.Module, world: World, step: int) -> None:
        """Do nothing: this task mines nothing."""

    def state(self) -> Mapping[str, Tensor]:
        """Nothing: :meth:`refresh` makes nothing that a checkpoint would need."""
        return {}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Do nothing, as :meth:`state` has nothing."""

    def flops(self, batch: Batch) -> float:
        """Floating-point operations of the layers of both levels of both encoders."""
        if not batch.layers:
            return 0.0
        return 3 * sum(forward_flops(self.recipe.model, part) for part in (batch.manuscripts, batch.papers))

    def export(self, folder: Path, meta: Mapping[str, Any]) -> None:
        """Write both encoders as an artifact, whose manifest says how much the hierarchy counts at that step."""
        recipe, share = self.recipe, self.hierarchy_share()
        meta = {
            **meta,
            "hierarchy": share.record(),
            "notes": [*meta.get("notes", ()), *share.notes(meta.get("step", 0))],
        }
        config = MpBert4crConfig(
            model=recipe.model,
            contexts=recipe.contexts,
            sentence_tokens=recipe.texts.sentence_tokens,
            title=recipe.texts.title,
        )
        save_mp_bert4cr(folder, self.model, self.texts.tokenizer, config, meta, trunk=self._save_trunk)

    def _save_trunk(self, to: Path) -> None:
        """Copy the frozen trunk into the artifact."""
        texts = self.recipe.texts
        save_backbone(texts.trunk, self.model_folder, texts.sentence_tokens, to)

    def hierarchy_share(self) -> HierarchyShare:
        """How much the layers count, on some dev manuscripts and the papers that they cite."""
        read, few = self.dev_documents, np.unique(np.linspace(0, len(self.dev) - 1, SHARED).astype(np.int64))
        contexts, (_, cited) = self.dev.positions[few], self.dev.cited.gather(few)
        papers = np.unique(cited).astype(np.int64)
        return hierarchy_share(
            self.model,
            read.contexts(contexts, Draws(0, 0, contexts)),
            read.papers(papers, Draws(0, 0, papers)),
        )


def gather(vectors: Tensor, rows: NDArray[np.int32], wanted: NDArray[np.int32]) -> tuple[Tensor, Tensor]:
    """The vectors of wanted papers, and where there is a paper.

    Args:
        vectors: (c, d) vectors of the papers ``rows``.
        rows: (c,) papers, ascending.
        wanted: (...) papers among these, or ``NO_ROW``.

    Returns:
        (..., d) vectors, arbitrary for ``NO_ROW``; and (...) bool, whether there is a paper.
    """
    present = wanted != NO_ROW
    # An absent paper reads any vector, which the mask leaves out.
    index = np.searchsorted(rows, np.where(present, wanted, rows[0]))
    gathered = vectors[torch.from_numpy(index).to(vectors.device)]
    return gathered, torch.from_numpy(present).to(vectors.device)


def recommendation_metrics(ranking: Ranking, queries: Gaps) -> dict[str, float]:
    """R@10 and MAP@10 of contexts, as in MP-BERT4CR's Table 3; and R@10 of those that cite two papers or more.

    Args:
        ranking: (Q, 10) papers, best first.
        queries: Q contexts and what they cite.
    """
    numbers = np.arange(len(ranking))
    hits = queries.cited.contains(numbers[:, None], ranking.rows) & (ranking.rows != NO_ROW)
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
