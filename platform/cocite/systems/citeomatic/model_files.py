"""The files of Citeomatic's artifacts: configuration, weights and vocabularies, alike for both networks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from cocite.artifacts import publish
from cocite.config import Settings
from cocite.errors import IntegrityError, NotFoundError
from cocite.manifests import Manifest, read_json
from cocite.systems.citeomatic.word_bags import WordVectors
from cocite.text.fields import FieldEncoder
from cocite.verification import open_verified

CONFIG, WEIGHTS = "config.json", "model.safetensors"

S = TypeVar("S", bound=Settings)


def save_network(
    folder: Path,
    kind: str,
    network: nn.Module,
    fields: FieldEncoder,
    config: Settings,
    meta: Mapping[str, Any],
) -> None:
    """Write an artifact; one that exists is replaced when this one is whole.

    Args:
        folder: of the artifact.
        kind: of the artifact, ``nnselect`` or ``nnrank``.
        network: its weights are written.
        fields: its vocabularies are written.
        config: what the network is built from when it is loaded.
        meta: further entries of the manifest.
    """
    with publish(folder, kind=kind, meta=dict(meta), replace=True) as temporary:
        (temporary / CONFIG).write_text(
            json.dumps(config.model_dump(mode="json"), indent=1, sort_keys=True) + "\n", encoding="utf-8"
        )
        save_file(
            {name: value.contiguous() for name, value in network.state_dict().items()}, temporary / WEIGHTS
        )
        fields.save(temporary)


def open_network(folder: Path, kind: str, settings: type[S]) -> tuple[Path, Manifest, S]:
    """The artifact of a kind in a model folder, or the folder itself where it is the artifact.

    Returns:
        its folder, its manifest, and its configuration.

    Raises:
        NotFoundError: there is none.
        IntegrityError: it is damaged.
        ConfigError: the configuration is of another version.
    """
    folder = Path(folder)
    inner = folder / kind
    folder = inner if inner.is_dir() else folder
    manifest = open_verified(folder, kind=kind)
    return folder, manifest, settings.parse(read_json(folder / CONFIG), where=str(folder / CONFIG))


def load_weights(folder: Path, network: nn.Module) -> None:
    """Fill a network with an artifact's weights, and make its tables of vectors ready to be read.

    Raises:
        NotFoundError: the file of weights is missing.
        IntegrityError: the weights do not fit the network.
    """
    path = folder / WEIGHTS
    try:
        network.load_state_dict(load_file(path))
    except FileNotFoundError as error:
        raise NotFoundError("no such file", where=str(path)) from error
    except (SafetensorError, RuntimeError) as error:
        message = str(error).splitlines()[0]
        raise IntegrityError(f"does not fit config and vocabulary: {message}", where=str(path)) from error
    for part in network.modules():
        if isinstance(part, WordVectors):
            part.freeze()
