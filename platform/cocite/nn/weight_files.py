"""Settings and weights of a model as files of an artifact: JSON and safetensors."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from cocite.config import Settings
from cocite.errors import IntegrityError, NotFoundError


def write_settings(path: Path, settings: Settings) -> None:
    """Write settings as JSON."""
    text = json.dumps(settings.model_dump(mode="json"), indent=1, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """A module's weights on the CPU; a weight that has several names occurs once."""
    # safetensors refuses tensors that are not contiguous or share memory.
    return {name: weight.detach().cpu().contiguous() for name, weight in model.named_parameters()}


def load_weights(model: nn.Module, path: Path) -> None:
    """Set a module's weights to those of a file that has the output of :func:`weights_of`.

    Raises:
        NotFoundError: there is no such file.
        IntegrityError: the file is damaged, or of a module of another shape.
    """
    try:
        weights = load_file(path)
        # Strict loading would ask for every name of a tied weight, which is stored under one; see below for the rest.
        model.load_state_dict(weights, strict=False)
    except FileNotFoundError as error:
        raise NotFoundError("no such file", where=str(path)) from error
    except (SafetensorError, RuntimeError) as error:
        message = str(error).splitlines()[0]
        raise IntegrityError(f"does not fit config and vocabulary: {message}", where=str(path)) from error
    other = weights.keys() ^ {name for name, _ in model.named_parameters()}
    if other:
        raise IntegrityError(f"does not fit config: {min(other)!r} is not in both", where=str(path))
