"""The training task of the cross-encoder: each example is a query with a group of its retriever's candidates.

HAtten + SciBERT (sections 4.2, 4.3, 5): triplets of one cited paper and 62 others, drawn from the candidates.
Nogueira et al. (section 4.2): cross-entropy over the retriever's top 10; in an experiment of section 5.2 with papers
drawn from the corpus. Besides these, a softmax over the group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.corpus.store import Corpus
from cocite.nn.layer_flops import layer_flops
from cocite.nn.softmax_losses import listwise_losses
from cocite.protocols import NO_ROW
from cocite.sampling.random_papers import RandomPapers
from cocite.systems.cross_encoder import pair_tokens
from cocite.systems.cross_encoder.examples import CandidateGroups
from cocite.systems.cross_encoder.losses import pairwise_triplet_loss, pointwise_loss
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.cross_encoder.pair_tokens import PairTokenSettings
from cocite.systems.cross_encoder.random_candidates import RandomCandidates
from cocite.systems.cross_encoder.recipe import CrossEncoderRecipe, ObjectiveSettings
from cocite.text.pair_batch import PairBatch
from cocite.text.token_lists import TokenLists
from cocite.training import candidates
from cocite.training.candidates import CandidateSet
from cocite.training.engine.task import Examples
from cocite.training.engine.world import World
from cocite.training.input_artifacts import find_input
from cocite.training.stages import METRICS, metric_means, query_values


@dataclass(frozen=True)
class Groups:
    """A batch: b queries with up to k candidates each, p pairs in all.

    Attributes:
        pairs: the p pairs, group after group.
        relevant: (b, k) bool, which candidates the query cites.
        present: (b, k) bool, false at padding; p of them are true.

    Example:
        >>> pairs = PairBatch(torch.tensor([2, 5, 3, 9, 3]), torch.tensor([0, 0, 0, 1, 1]), torch.tensor([0, 5]), 5)
        >>> groups = Groups(pairs, relevant=torch.tensor([[True, False]]), present=torch.tensor([[True, False]]))
        >>> len(groups.pairs) == int(groups.present.sum())
        True
    """

    pairs: PairBatch
    relevant: Tensor
    present: Tensor


@dataclass(frozen=True)
class _Side:
    """The queries of training or of dev, with their tokens."""

    part: CandidateSet
    tokens: TokenLists


class CrossEncoderTask:
    """See :class:`~cocite.training.engine.task.TrainTask`; an example is a query with its group of candidates.

    Args:
        recipe: settings.
        corpus: the papers.
        model_folder: has the candidates and their tokens.

    Attributes:
        model: the cross-encoder.

    Raises:
        NotFoundError: the model folder holds no candidates, or not their tokens.
        InputError: they are of another corpus, or the tokens of another tokenizer.

    Example:
        >>> from cocite.systems.cross_encoder.losses import pointwise_loss
        >>> recipe = CrossEncoderRecipe.parse({"objective": {"loss": "pointwise"}}, where="recipe.yaml")
        >>> group_loss(recipe.objective) is pointwise_loss
        True
    """

    metric = "MRR"

    def __init__(self, recipe: CrossEncoderRecipe, corpus: Corpus, model_folder: Path) -> None:
        torch.manual_seed(recipe.training.seed)
        self.recipe = recipe
        self.model = CrossEncoder.from_pretrained(
            recipe.encoder,
            recipe.pairs,
            layers=recipe.layers,
            dropout=recipe.dropout,
            readout=recipe.readout,
        )
        parts = candidates.load(
            find_input(model_folder, candidates.KIND, lacking="candidates to train on"), corpus
        )
        objective = recipe.objective
        settings = PairTokenSettings.of(
            recipe.candidates, recipe.encoder, self.model.pairs, whole=objective.random > 0
        )
        tokens = pair_tokens.load(model_folder, corpus, settings)
        self.sides = {name: _Side(part, tokens.queries[name]) for name, part in parts.items()}
        self.papers = tokens.papers
        train, outside = parts["train"], None
        if objective.random:
            papers = RandomPapers(np.asarray(corpus.years), later=not recipe.candidates.earlier_only)
            outside = RandomCandidates(papers, train.papers(corpus), train.cited)
        self.groups = CandidateGroups(
            train.rows,
            train.cited,
            objective,
            seed=recipe.training.seed,
            unanswered=objective.loss == "pointwise",
            outside=outside,
        )
        self._lock = Lock()
        self._epoch: tuple[int, NDArray[np.int32], NDArray[np.bool_]] | None = None

    # -- training -----------------------------------------------------------------------------------------------

    def _groups(self, epoch: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Candidates and relevance of all groups of an epoch; cached, as threads of the loader ask for them."""
        with self._lock:
            if self._epoch is None or self._epoch[0] != epoch:
                self._epoch = (epoch, *self.groups.epoch(epoch))
            return self._epoch[1], self._epoch[2]

    def _sides(
        self, name: str, queries: NDArray[np.int64], rows: NDArray[np.int32]
    ) -> tuple[TokenLists, TokenLists]:
        """The two sides of the pairs of some queries with candidates (q, k), padding left out."""
        owner, slot = np.nonzero(rows != NO_ROW)
        return self.sides[name].tokens.take(queries[owner]), self.papers.take(rows[owner, slot])

    def lengths(self, epoch: int) -> NDArray[np.int64]:
        """(n,) tokens of each group."""
        rows, _ = self._groups(epoch)
        owner = np.nonzero(rows != NO_ROW)[0]
        lengths = self.model.pairs.lengths(*self._sides("train", self.groups.queries, rows))
        return np.bincount(owner, lengths, minlength=len(rows)).astype(np.int64)

    def collate(self, examples: Examples, epoch: int) -> Groups:
        """The pairs of some groups."""
        rows, relevant = self._groups(epoch)
        rows, relevant = rows[examples], relevant[examples]
        sides = self._sides("train", self.groups.queries[examples], rows)
        return Groups(
            self.model.pairs.batch(*sides), torch.from_numpy(relevant), torch.from_numpy(rows != NO_ROW)
        )

    def loss(self, model: nn.Module, batch: Groups) -> Tensor:
        """(b,) the objective of each group."""
        scores: Tensor = model(batch.pairs).float()
        logits = scores.new_zeros(batch.present.shape).masked_scatter(batch.present, scores)
        return group_loss(self.recipe.objective)(logits, batch.relevant, batch.present)

    # -- the dev metric -----------------------------------------------------------------------------------------

    def evaluate(self, model: nn.Module, world: World) -> dict[str, float]:
        """The metrics of the dev queries' candidates in the model's order, and in the retriever's."""
        side = self.sides["dev"]
        share = np.arange(len(side.part))[world.share(len(side.part))]
        scores = self._scores(model, share, side.part.rows[share], world.device)
        whole = world.concatenate(torch.from_numpy(scores).to(world.device)).cpu().numpy()
        order = np.argsort(-whole, axis=1, kind="stable")
        relevant, count = side.part.relevant, side.part.cited.degrees
        retrieved = metric_means(query_values(relevant, count))
        return {
            **metric_means(query_values(np.take_along_axis(relevant, order, 1), count)),
            **{f"retriever {name}": value for name, value in retrieved.items()},
        }

    def _scores(
        self, model: nn.Module, queries: NDArray[np.int64], rows: NDArray[np.int32], device: torch.device
    ) -> NDArray[np.float32]:
        """(q, k) logits of dev candidates, ``-inf`` at padding, computed in passes of ``training.tokens`` tokens."""
        result = np.full(rows.shape, -np.inf, np.float32)
        left, right = self._sides("dev", queries, rows)
        lengths = self.model.pairs.lengths(left, right)
        order = np.argsort(-lengths, kind="stable")
        passes = np.cumsum(lengths[order]) // self.recipe.training.tokens
        logits = np.empty(len(order), np.float32)
        for pairs in np.split(order, np.flatnonzero(np.diff(passes)) + 1):
            batch = self.model.pairs.batch(left.take(pairs), right.take(pairs)).to(device)
            logits[pairs] = model(batch).float().cpu().numpy()
        result[rows != NO_ROW] = logits
        return result

    # -- mining, state and export ------------------------------------------------------------------------------

    def refresh(self, model: nn.Module, world: World, step: int) -> None:
        """Does nothing: no negatives are mined, as the candidates are the retriever's."""

    def state(self) -> Mapping[str, Tensor]:
        """Empty: the task keeps nothing that a checkpoint would need."""
        return {}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Does nothing, see :meth:`state`."""

    def flops(self, batch: Groups) -> float:
        """Floating-point operations of a step: the last layer computes the first token of each pair alone."""
        config: Any = self.model.backbone.config
        lengths = batch.pairs.lengths.double()
        tokens, squares = float(lengths.sum()), float(lengths.square().sum())
        hidden, inner = config.hidden_size, getattr(config, "intermediate_size", 4 * config.hidden_size)
        full = layer_flops(tokens, squares, hidden=hidden, inner=inner)
        if self.model.similarity is not None:
            return float(3 * config.num_hidden_layers * full)
        # Of the last layer: keys and values of all tokens, everything else of the first.
        first = layer_flops(len(lengths), tokens, hidden=hidden, inner=inner)
        last = first + (tokens - len(lengths)) * 4 * hidden**2
        return float(3 * ((config.num_hidden_layers - 1) * full + last))

    def export(self, folder: Path, meta: Mapping[str, Any]) -> None:
        """Write the cross-encoder; the manifest says whether its order is below the retriever's on dev."""
        self.model.save(folder, {**meta, **self._stage_record(meta)})

    def _stage_record(self, meta: Mapping[str, Any]) -> dict[str, Any]:
        """``notes`` and ``left_out``, as :func:`~cocite.training.stages.stage_record` has them."""
        dev, notes = meta.get("dev", {}), list(meta.get("notes", []))
        pairs = [
            (name, dev[name], dev[f"retriever {name}"]) for name in METRICS if f"retriever {name}" in dev
        ]
        below = any(new < old for _, new, old in pairs)
        kind = self.recipe.candidates.task
        note = f"cross-encoder is {'below' if below else 'not below'} its retriever on {len(self.sides['dev'].part):,} "
        note += f"{kind} dev queries: " + ", ".join(
            f"{name} {new:.3f} against {old:.3f}" for name, new, old in pairs
        )
        left_out = {}
        if below and self.recipe.keep == "always":
            note += "; it is kept all the same, as keep=always says"
        elif below:
            note += "; it is left out but where a final fusion weighs its score"
            note += " (train it with keep=always to have it all the same)"
            left_out = dict.fromkeys(("local", "global"), note)
        return {"notes": [*notes, note], "left_out": left_out}


def group_loss(objective: ObjectiveSettings) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """The loss of some settings: (Q, k) logits, relevant and present to (Q,) losses."""
    if objective.loss == "triplet":
        return partial(pairwise_triplet_loss, margin=objective.margin)
    return pointwise_loss if objective.loss == "pointwise" else listwise_losses


def build(recipe: CrossEncoderRecipe, corpus: Corpus, model_folder: Path) -> CrossEncoderTask:
    """The task of a recipe, on the candidates of the model folder."""
    return CrossEncoderTask(recipe, corpus, model_folder)
