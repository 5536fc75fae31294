"""Pretrained encoders of Hugging Face: loaded by name or folder, from safetensors only, and cut to fewer layers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from safetensors import SafetensorError
from torch import nn
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, AutoTokenizer
from transformers.utils import logging

from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.manifests import MANIFEST
from cocite.nn import hub
from cocite.verification import open_verified

Layers = Annotated[int, Field(ge=1, le=1_000)] | Literal["alternate"] | None
"""The layers of a backbone that are kept: the first n; ``alternate``: every second, from the first; None: all."""


@dataclass(frozen=True)
class PretrainedEncoder:
    """A loaded encoder with its tokenizer.

    Attributes:
        backbone: the encoder, in fp32, on the CPU, in ``eval`` mode.
        tokenizer: its tokenizer.
        head: the classifier of a published reranker (d -> 1), which reads [CLS] through the backbone's pooler; None for
            a plain encoder.

    Example:
        >>> import tempfile
        >>> from transformers import BertConfig, BertModel
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tokenizer = train_wordpiece(lambda: ["bm25 ranks documents well ."] * 2, 300)
        ...     _ = tokenizer.save_pretrained(folder)
        ...     BertModel(BertConfig(vocab_size=300, hidden_size=8, num_hidden_layers=2, num_attention_heads=2,
        ...                          intermediate_size=16)).save_pretrained(folder)
        ...     pretrained = load(folder)
        >>> type(pretrained.backbone).__name__, pretrained.head, len(layer_list(pretrained.backbone))
        ('BertModel', None, 2)
    """

    backbone: Any
    tokenizer: Any
    head: nn.Linear | None


def load(name_or_folder: str, *, with_head: bool = True) -> PretrainedEncoder:
    """Load an encoder and its tokenizer.

    Args:
        name_or_folder: a folder as Hugging Face writes it, or the name of a model of its hub.
        with_head: whether to look for a published reranker's classifier.

    Raises:
        NotFoundError: neither a folder, nor in this machine's cache, nor a name that a reachable hub knows.
        InputError: no safetensors, an unknown architecture, or one that is no encoder.
        IntegrityError: weights that cannot be read, or lack some of what the architecture needs.
    """
    options = _options(name_or_folder)
    with _explained(name_or_folder), _quiet():
        config = AutoConfig.from_pretrained(name_or_folder, **options)
        if getattr(config, "is_encoder_decoder", False):
            raise InputError(f"a {config.model_type} is no encoder alone", where=name_or_folder)
        tokenizer = AutoTokenizer.from_pretrained(name_or_folder, **options)
        # fp32 whatever the file holds: training keeps fp32 weights, and bf16 is autocast.
        options |= {"use_safetensors": True, "dtype": torch.float32, "output_loading_info": True}
        if with_head and _is_reranker(config):
            whole, report = AutoModelForSequenceClassification.from_pretrained(name_or_folder, **options)
            backbone, head = whole.base_model, getattr(whole, "classifier", None)
            if isinstance(head, nn.Linear) and getattr(backbone, "pooler", None) is not None:
                _check_complete(report, name_or_folder)
                return PretrainedEncoder(backbone.eval(), tokenizer, head)
        backbone, report = AutoModel.from_pretrained(name_or_folder, **options)
    # Many published encoders come without a pooler, which only some readouts use, after training it.
    _check_complete(report, name_or_folder, besides="pooler.")
    return PretrainedEncoder(backbone.eval(), tokenizer, None)


def load_tokenizer(name_or_folder: str) -> Any:
    """The tokenizer of an encoder, without its weights.

    Args:
        name_or_folder: as for :func:`load`.

    Raises:
        NotFoundError: neither a folder, nor in this machine's cache, nor a name that a reachable hub knows.
        InputError: it cannot be loaded.
    """
    options = _options(name_or_folder)
    with _explained(name_or_folder), _quiet():
        return AutoTokenizer.from_pretrained(name_or_folder, **options)


def _options(name_or_folder: str) -> dict[str, Any]:
    """How Hugging Face is to look for an encoder; one in a folder is checked."""
    folder = Path(name_or_folder)
    if folder.is_dir():
        _check_folder(folder)
        return {}
    return {"local_files_only": True} if hub.must_be_cached(name_or_folder) else {}


def _is_reranker(config: Any) -> bool:
    architecture = (getattr(config, "architectures", None) or [""])[0]
    return bool(architecture.endswith("ForSequenceClassification") and config.num_labels == 1)


def _check_folder(folder: Path) -> None:
    """Check that a folder can be loaded, and is undamaged where it is an artifact of cocite.

    The errors here name what is missing. The library's errors depend on which file it opens first.
    """
    if (folder / MANIFEST).is_file():
        open_verified(folder)
    if not (folder / "config.json").is_file():
        raise NotFoundError(
            "holds no config.json", where=str(folder), hint="name a Hugging Face model folder"
        )
    if any(folder.glob("*.safetensors")):
        return
    pickles = sorted([*folder.glob("*.bin"), *folder.glob("*.pt"), *folder.glob("*.pth")])
    if pickles:
        raise InputError(
            f"its weights are a pickle ({pickles[0].name}), which is never loaded",
            where=str(folder),
            hint="convert them to model.safetensors",
        )
    raise NotFoundError("holds no model.safetensors", where=str(folder))


def _check_complete(report: dict[str, Any], where: str, besides: str | None = None) -> None:
    """Refuse weights that would leave some of the architecture's random."""
    missing = sorted(key for key in report["missing_keys"] if besides is None or besides not in key)
    missing += sorted(str(key) for key in report["mismatched_keys"])
    if missing:
        raise IntegrityError(
            f"the weights lack {missing[0]!r} or have it in another shape ({len(missing)} such)", where=where
        )


@contextmanager
def _explained(where: str) -> Iterator[None]:
    """Turn the library's errors into cocite's, of one sentence."""
    try:
        yield
    except SafetensorError as error:
        raise IntegrityError(f"the weights cannot be read: {error}", where=where) from error
    except OSError as error:
        if Path(where).is_dir():
            message = str(error).strip().splitlines()[0]
            raise InputError(f"cannot be loaded: {message}", where=where) from error
        raise NotFoundError(
            "is no folder, and no model hub that can be reached has a model of this name with safetensors",
            where=where,
            hint="check the name, unset HF_HUB_OFFLINE where there is a network, or copy the model here and name its "
            "folder",
        ) from error
    except (KeyError, ValueError, RuntimeError) as error:
        message = str(error).strip().splitlines()[0]
        raise InputError(f"cannot be loaded: {message}", where=where) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the library's progress bars and its report of unused weights."""
    level = logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def layer_list(backbone: nn.Module) -> nn.ModuleList:
    """The backbone's layers.

    Raises:
        InputError: none of its lists of modules is as long as its configuration says.
    """
    config: Any = backbone.config
    for module in backbone.modules():
        if isinstance(module, nn.ModuleList) and len(module) == config.num_hidden_layers:
            return module
    raise InputError(f"the layers of a {config.model_type} are not found, so none can be left out")


def drop_pooler(backbone: Any) -> None:
    """Take away a pooler that nothing reads: it would be saved, at random where it was not loaded, and DDP would wait
    for its gradients."""
    if getattr(backbone, "pooler", None) is not None:
        backbone.pooler = None


def keep_layers(backbone: nn.Module, layers: Layers) -> None:
    """Leave layers out of a backbone, in place.

    Raises:
        InputError: ``layers`` is more than there are, or none.
    """
    if layers is None:
        return
    modules = layer_list(backbone)
    if layers != "alternate" and not 1 <= layers <= len(modules):
        raise InputError(f"the backbone has {len(modules)} layers, not {layers}")
    kept = list(modules)[::2] if layers == "alternate" else list(modules)[:layers]
    # In place: which module holds the list differs between families.
    for _ in range(len(modules) - len(kept)):
        modules.pop(-1)
    for i, module in enumerate(kept):
        modules[i] = module
    config: Any = backbone.config
    # Else a saved copy would be loaded with random layers in place of those left out.
    config.num_hidden_layers = len(kept)


def set_dropout(backbone: nn.Module, share: float) -> None:
    """Set every dropout rate, of states and of attention weights, in the configuration and in the layers."""
    config: Any = backbone.config
    for name in ("hidden_dropout_prob", "dropout", "attention_probs_dropout_prob", "attention_dropout"):
        if hasattr(config, name):
            setattr(config, name, share)
    module: Any
    for module in backbone.modules():
        if isinstance(module, nn.Dropout):
            module.p = share
        for name in ("dropout", "attention_dropout"):  # some families have a number instead of a module
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, share)
