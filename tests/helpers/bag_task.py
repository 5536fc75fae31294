"""A training small enough for tests: regression on bags of words of different lengths."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.training.engine.optimizers import ParameterGroup
from cocite.training.engine.settings import TrainingSettings
from cocite.training.engine.world import World

WORDS, WIDTH = 40, 5  # an odd width: no tensor divides evenly among two ranks


class Bag(nn.Module):
    """Mean of word vectors, a hidden layer, a number.

    ``spare`` takes part in no loss, ``rare`` in some; ``scalar`` has no dimension.
    """

    def __init__(self, dropout: float, rare: bool, scalar: bool = False, sparse: bool = False) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH, sparse=sparse)
        self.norm = nn.LayerNorm(WIDTH)
        self.hidden = nn.Linear(WIDTH, 7)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(7, 1)
        self.spare = nn.Linear(3, 3)
        self.rare = nn.Parameter(torch.ones(7)) if rare else None
        self.scalar = nn.Parameter(torch.tensor(1.0)) if scalar else None
        self.fixed = nn.Parameter(torch.full((WIDTH,), 0.5), requires_grad=False)
        self.register_buffer("scale", torch.tensor([2.0]))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        vectors = self.words(tokens) * mask[..., None]
        mean = vectors.sum(1) / mask.sum(1, keepdim=True) + self.fixed
        hidden = self.dropout(torch.tanh(self.hidden(self.norm(mean))))
        if self.rare is not None and (tokens == 1).any():
            hidden = hidden + self.rare * (tokens == 1).any(1, keepdim=True)
        return self.out(hidden).squeeze(-1) * self.scale


class BagTask:
    """Learn the mean of the words' secret values; what was mined shifts the targets a little."""

    metric = "fit"

    def __init__(
        self,
        settings: TrainingSettings,
        *,
        examples: int = 50,
        dropout: float = 0.0,
        rare: bool = False,
        scalar: bool = False,
        sparse: bool = False,
    ) -> None:
        torch.manual_seed(settings.seed)
        self.model: nn.Module = Bag(dropout, rare, scalar, sparse)
        self.sparse = sparse
        self.settings = settings
        rng = np.random.default_rng(7)
        self.sizes = rng.integers(1, 12, examples)
        self.texts = [torch.from_numpy(rng.integers(0, WORDS, size)) for size in self.sizes]
        self.secret = torch.from_numpy(rng.normal(size=WORDS).astype(np.float32))
        self.mined = torch.zeros(3)
        self.seen: list[int] = []
        self.values: list[float] | None = None

    def parameter_groups(self) -> list[ParameterGroup]:
        if not self.sparse:
            return []
        hidden = frozenset({"hidden.weight", "hidden.bias"})
        return [
            ParameterGroup(frozenset({"words.weight"}), sparse=True),
            ParameterGroup(hidden, rate_share=0.5),
        ]

    def lengths(self, epoch: int) -> NDArray[np.int64]:
        # What was mined changes the lengths: a resumed epoch must go on with those it began with.
        return self.sizes + int(self.mined[1]) % 3

    def collate(self, examples: NDArray[np.int64], epoch: int) -> dict[str, Tensor]:
        chosen = [self.texts[number] for number in examples.tolist()]
        tokens = nn.utils.rnn.pad_sequence(chosen, batch_first=True)
        sizes = torch.tensor([len(text) for text in chosen])
        mask = (torch.arange(tokens.shape[1]) < sizes[:, None]).float()
        target = (self.secret[tokens] * mask).sum(1) / sizes + 0.05 * self.mined[0]
        return {"tokens": tokens, "mask": mask, "target": target, "examples": torch.from_numpy(examples)}

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        self.seen += batch["examples"].tolist()
        return (model(batch["tokens"], batch["mask"]) - batch["target"]).square()

    def evaluate(self, model: nn.Module, world: World) -> dict[str, float]:
        error = torch.zeros(2, device=world.device)
        for first in range(0, len(self.texts), 10)[
            world.rank :: world.size
        ]:  # ranks run unequally many passes
            batch = self.collate(np.arange(first, min(first + 10, len(self.texts))), 0)
            predicted = model(batch["tokens"].to(world.device), batch["mask"].to(world.device))
            apart = (predicted.cpu() - batch["target"]).square()
            error += torch.tensor([apart.sum().item(), len(apart)], device=world.device)
        total = world.sum(error)
        fit = -float(total[0] / total[1])
        if self.values is not None:
            fit = self.values.pop(0)
        return {self.metric: fit}

    def refresh(self, model: nn.Module, world: World, step: int) -> None:
        # A function of the weights and the step.
        drift = torch.tanh(next(model.parameters()).sum()).item()
        self.mined = torch.tensor([drift, float(step), self.mined[2].item() + 1])

    def state(self) -> Mapping[str, Tensor]:
        return {"mined": self.mined}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        self.mined = state["mined"]

    def flops(self, batch: dict[str, Tensor]) -> float:
        return 6.0 * WIDTH * 7 * len(batch["tokens"])

    def export(self, folder: Path, meta: Mapping[str, Any]) -> None:
        folder.mkdir(parents=True)
        (folder / "meta.json").write_text(json.dumps(dict(meta)))


def settings(**changes: Any) -> TrainingSettings:
    """Settings of a short training; nested ones as dictionaries."""
    plain = {
        "epochs": 2,
        "batch": 8,
        "tokens": 20,
        "sort_within": 2,
        "log_every": 1,
        "optimizer": {"learning_rate": 0.02, "weight_decay": 0.1, "clip": 0.5},
        "schedule": {"shape": "cosine", "warmup": 3, "final": 0.1},
    }
    return TrainingSettings.model_validate(plain | changes)
