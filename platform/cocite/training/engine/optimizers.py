"""The optimizers of a training: AdamW or Nadam for dense gradients, Adam on the rows that sparse ones touch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from cocite.errors import ConfigError
from cocite.training.engine.eager_optimizers import AdamW, NAdam
from cocite.training.engine.settings import OptimizerSettings
from cocite.training.engine.sparse_adam import SparseAdam

RATE_SHARE = "rate_share"
"""Key of a parameter group: its learning rate as a share of the training's."""


@dataclass(frozen=True)
class ParameterGroup:
    """Parameters that are stepped otherwise than the rest of the model.

    Attributes:
        names: of the parameters, as in ``model.named_parameters()``.
        rate_share: their learning rate as a share of the training's.
        sparse: whether their gradients are sparse. Then a step changes only the rows that its batch used, and only
            those rows' moments (the paper's LazyAdam; torch's ``SparseAdam``), without weight decay.

    Example:
        >>> model = nn.ModuleDict({"words": nn.Embedding(9, 2, sparse=True), "layer": nn.Linear(2, 2)})
        >>> words = ParameterGroup(frozenset({"words.weight"}), rate_share=0.1, sparse=True)
        >>> [type(optimizer).__name__ for optimizer in make_optimizers(model, OptimizerSettings(), [words])]
        ['AdamW', 'SparseAdam']
    """

    names: frozenset[str]
    rate_share: float = 1.0
    sparse: bool = False


def sparse_names(groups: Iterable[ParameterGroup]) -> frozenset[str]:
    """Names of the parameters whose gradients are sparse."""
    return frozenset().union(*(group.names for group in groups if group.sparse))


def make_optimizers(
    model: nn.Module, settings: OptimizerSettings, groups: Sequence[ParameterGroup] = ()
) -> list[torch.optim.Optimizer]:
    """The optimizers of a model's trained parameters: AdamW or Nadam, and ``SparseAdam`` where gradients are sparse.

    Raises:
        ConfigError: the model has nothing to train, or Nadam is to step sparse gradients.
    """
    if settings.name != "adamw" and sparse_names(groups):
        raise ConfigError(
            "the model's tables have sparse gradients, which Nadam does not step",
            where="training.optimizer.name",
            hint="choose adamw",
        )
    shares = {name: group.rate_share for group in groups for name in group.names}
    sparse = sparse_names(groups)
    dense = dense_groups(model, settings, shares, without=sparse)
    tables = [
        {"params": [parameter], RATE_SHARE: shares[name]}
        for name, parameter in model.named_parameters()
        if name in sparse and parameter.requires_grad
    ]
    if not dense and not tables:
        raise ConfigError("the model has no trainable weights", where="training", hint="unfreeze some")
    rate, betas, epsilon = settings.learning_rate, settings.betas, settings.epsilon
    optimizers: list[torch.optim.Optimizer] = []
    if dense and settings.name == "nadam":
        # Its momentum decay of 0.004 is Keras' schedule_decay.
        optimizers.append(NAdam(dense, lr=rate, betas=betas, eps=epsilon, decoupled_weight_decay=True))
    elif dense:
        optimizers.append(AdamW(dense, lr=rate, betas=betas, eps=epsilon, fused=True))
    if tables:
        optimizers.append(SparseAdam(tables, lr=rate, betas=betas, eps=epsilon))
    return optimizers


def dense_groups(
    model: nn.Module,
    settings: OptimizerSettings,
    shares: dict[str, float] | None = None,
    *,
    without: frozenset[str] = frozenset(),
) -> list[dict[str, object]]:
    """AdamW's parameter groups: by weight decay (biases and norms, of one dimension or none, are exempt) and by rate.

    Args:
        model: its trained parameters are grouped.
        settings: the weight decay.
        shares: name of a parameter -> its learning rate as a share of the training's; 1 where it is missing.
        without: names of parameters that another optimizer steps.
    """
    members: dict[tuple[bool, float], list[nn.Parameter]] = {}
    for decays in (True, False):
        for name, parameter in model.named_parameters():
            if parameter.requires_grad and name not in without and (parameter.ndim > 1) == decays:
                members.setdefault((decays, (shares or {}).get(name, 1.0)), []).append(parameter)
    return [
        {"params": parameters, "weight_decay": settings.weight_decay if decays else 0.0, RATE_SHARE: share}
        for (decays, share), parameters in members.items()
    ]


def clip_gradients(parameters: Iterable[nn.Parameter], most: float) -> float:
    """Scale the gradients of some parameters so that their norm, sparse ones included, is at most ``most``.

    Returns:
        the norm before.
    """
    parameters = [parameter for parameter in parameters if parameter.grad is not None]
    values: list[Tensor] = []
    for parameter in parameters:
        gradient = parameter.grad
        if gradient is not None and gradient.is_sparse:
            # Until then a row may occur several times, and its norm is that of the sum of its parts.
            parameter.grad = gradient.coalesce()
            gradient = parameter.grad._values()  # shares its memory
        if gradient is not None:
            values.append(gradient)
    norm = float(nn.utils.get_total_norm(values))
    if norm > most:
        for value in values:
            # The same 1e-6 as in torch's clip_grad_norm_, so that all backends clip alike.
            value.mul_(most / (norm + 1e-6))
    return norm
