"""The interface between a neural model and the training loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.training.engine.optimizers import ParameterGroup
from cocite.training.engine.world import World

B = TypeVar("B")
C = TypeVar("C", contravariant=True)

Examples = NDArray[np.int64]
"""Numbers of some examples of an epoch, in 0 ... n - 1."""


class TrainTask(Protocol[B]):
    """What a neural model brings to its training: examples, batches, loss, dev metric.

    An epoch's examples are numbered. Whatever an example draws (negatives, sentences) is a function of the seed, the
    epoch, its number and what was last mined, never of the batch, the worker or the thread that asks for it: so the
    same training comes out of one process and of many.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.systems.citeomatic.nnselect.task import build
        >>> from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
        >>> from cocite.training.engine.loop import train
        >>> recipe = NNSelectRecipe.parse({"model": {"dimension": 4}, "training": {"steps": 3}})
        >>> task: TrainTask = build(recipe, starter_corpus())
        >>> train(task, recipe.training, world=World()).steps
        3
    """

    @property
    def model(self) -> nn.Module:
        """The model that is trained; its weights are those of the seed when the task is made."""
        ...

    @property
    def metric(self) -> str:
        """The dev metric that decides which checkpoint is best; greater is better."""
        ...

    def lengths(self, epoch: int) -> NDArray[np.int64]:
        """(n,) cost of each example of an epoch (from 0), in tokens."""
        ...

    def collate(self, examples: Examples, epoch: int) -> B:
        """The batch of some examples, on the CPU. Called from loader threads."""
        ...

    def loss(self, model: nn.Module, batch: B) -> Tensor:
        """(b,) loss of each example of a batch, which is on the model's device.

        Args:
            model: the trained module, as the backend wraps it: call it, not ``self.model``.
            batch: from :meth:`collate`.
        """
        ...

    def evaluate(self, model: nn.Module, world: World) -> dict[str, float]:
        """Dev metrics of the present weights; every rank is called and must return the same numbers."""
        ...

    def refresh(self, model: nn.Module, world: World, step: int) -> None:
        """Mine anew with the present weights. Every rank is called; does nothing where there is nothing to mine."""
        ...

    def state(self) -> Mapping[str, Tensor]:
        """What a checkpoint must hold besides the weights, as plain tensors: small, and the same on every rank."""
        ...

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Take back what :meth:`state` gave."""
        ...

    def flops(self, batch: B) -> float:
        """Floating-point operations of a forward and a backward pass over a batch, as the model needs them."""
        ...

    def export(self, folder: Path, meta: Mapping[str, Any]) -> None:
        """Write the model folder (an artifact) from ``self.model``'s weights."""
        ...


class PenalizedVectors(NamedTuple):
    """What :meth:`ContrastiveTask.embed` returns where its loss has a part that does not go through the vectors.

    Attributes:
        vectors: (r, d).
        penalty: scalar that is added to the loss of each example of the piece, such as a regularisation of the word
            vectors that the piece used.

    Example:
        >>> import torch
        >>> PenalizedVectors(torch.ones(4, 2), torch.tensor(0.5)).penalty.item()
        0.5
    """

    vectors: Tensor
    penalty: Tensor


@runtime_checkable
class ContrastiveTask(Protocol[C]):
    """A task whose loss sets all examples of a step against one another (in-batch negatives).

    The loop embeds the step in pieces that fit into memory, gathers the vectors of all workers, takes the gradient of
    the loss at the vectors, and then runs each piece again to carry that gradient into the weights (cached gradients,
    Gao et al. 2021): the batch is as large as one likes. A step that is one piece on one process is run once.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.systems.citeomatic.nnselect.task import build
        >>> from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
        >>> isinstance(build(NNSelectRecipe.parse({"model": {"dimension": 4}}), starter_corpus()), ContrastiveTask)
        True
    """

    def embed(self, model: nn.Module, batch: C) -> Tensor | PenalizedVectors:
        """(r, d) vectors of a piece's queries and candidates; r and their order follow from the examples alone."""
        ...

    def contrast(self, vectors: Tensor, pieces: Sequence[Examples], epoch: int) -> Tensor:
        """(b,) loss of each example of a step.

        Args:
            vectors: (R, d) what :meth:`embed` gave for each piece, one below the other.
            pieces: the examples of each piece, in that order.
            epoch: the epoch they belong to.
        """
        ...


@runtime_checkable
class OrderedTask(Protocol):
    """A task that has drawn the order of its examples itself: steps are cut from 0 ... n - 1 as they stand.

    Without it the engine shuffles the examples and groups those of like length.

    Example:
        >>> class InOrder:
        ...     is_ordered = True
        >>> isinstance(InOrder(), OrderedTask)
        True
    """

    @property
    def is_ordered(self) -> bool:
        """Whether the examples' numbers are their order."""
        ...


@runtime_checkable
class EpochTask(Protocol):
    """A task with tables of an epoch, which the ranks of a machine share (:mod:`cocite.training.engine.gathering`).

    What its examples are follows from the epoch alone, so a checkpoint does not hold their lengths.

    Example:
        >>> class Shared:
        ...     def begin_epoch(self, epoch, world):
        ...         pass
        >>> isinstance(Shared(), EpochTask)
        True
    """

    def begin_epoch(self, epoch: int, world: World) -> None:
        """Make them. Every rank is called, before lengths and batches of the epoch are asked for.

        A training that goes on within the epoch calls it again.
        """
        ...


@runtime_checkable
class PreparedTask(Protocol):
    """A task that needs something computed before the first step, by all processes together.

    It lies beside the checkpoints: a resumed training reads it there (:mod:`cocite.training.engine.preparation`).

    Example:
        >>> class Warm:
        ...     def prepare(self, world, stage):
        ...         stage("warming up")
        ...         return {}
        ...     def load_prepared(self, prepared):
        ...         pass
        >>> isinstance(Warm(), PreparedTask)
        True
    """

    def prepare(self, world: World, stage: Callable[[str], None]) -> Mapping[str, Tensor]:
        """Compute it. Every rank is called once, before the latest checkpoint is read.

        Args:
            world: the processes that train together.
            stage: receives a description of what begins.

        Returns:
            What :meth:`load_prepared` takes, the same on every rank.
        """
        ...

    def load_prepared(self, prepared: Mapping[str, Tensor]) -> None:
        """Take back what :meth:`prepare` gave, instead of a call of it or after one; the tensors are not changed."""
        ...


@runtime_checkable
class MiningTask(Protocol):
    """A task whose :meth:`TrainTask.refresh` finds something that its examples draw from until the next time.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.systems.citeomatic.nnselect.task import build
        >>> from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
        >>> task = build(NNSelectRecipe.parse({"model": {"dimension": 4}}), starter_corpus())
        >>> task.refresh(task.model, World(), step=0)
        >>> isinstance(task, MiningTask), sorted(task.mined())
        (True, ['indices', 'indptr'])
    """

    @property
    def mining_metrics(self) -> Mapping[str, float]:
        """What is logged of the last :meth:`TrainTask.refresh`; the same on every rank."""
        ...

    def mined(self) -> Mapping[str, Tensor]:
        """The result of the last :meth:`TrainTask.refresh`, as plain tensors that no later one changes in place."""
        ...

    def load_mined(self, mined: Mapping[str, Tensor]) -> None:
        """Take back what :meth:`mined` gave."""
        ...


@runtime_checkable
class GroupedTask(Protocol):
    """A task whose parameters are not all stepped alike.

    Example:
        >>> class Sparse:
        ...     def parameter_groups(self):
        ...         return [ParameterGroup(frozenset({"words.weight"}), sparse=True)]
        >>> isinstance(Sparse(), GroupedTask)
        True
    """

    def parameter_groups(self) -> Sequence[ParameterGroup]:
        """The parameters that are stepped otherwise than the settings of the optimizer say."""
        ...
