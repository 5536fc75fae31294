"""The files by which other libraries load a part of a model, and the way back to the part's own files.

=========================== =========================================================================================
form                        loads as
=========================== =========================================================================================
``sentence-transformers``   ``SentenceTransformer``, with its pooling and prompts; ``AutoModel`` alone gives states
``cross-encoder``           ``CrossEncoder`` of sentence-transformers: the first token's state, and a linear layer
``sequence-classification`` ``AutoModelForSequenceClassification`` and ``CrossEncoder``: BERT with pooler and classifier
``encoder``                 ``AutoModel``; the head, if there is one, has no class of transformers
``cocite``                  cocite alone
=========================== =========================================================================================

A form adds files, and never changes what a part computes. One form replaces two files: the configuration and the names
of the tensors of a sequence classifier; the part's own configuration is kept beside them.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal

from safetensors import safe_open
from safetensors.torch import save_file

from cocite.manifests import read_json
from cocite.pipeline.huggingface.parts import Part
from cocite.pipeline.huggingface.tensor_names import rename_tensors
from cocite.systems.bi_encoder.network import KIND as BI_ENCODER
from cocite.systems.cross_encoder.network import KIND as CROSS_ENCODER
from cocite.systems.cross_encoder.network import OWN, CrossEncoderConfig
from cocite.systems.sentence_encoder.encoder import KIND as SENTENCE
from cocite.systems.sentence_encoder.encoder import SETTINGS, SentenceSettings
from cocite.systems.sentence_encoder.module_files import (
    MODULES,
    write_json,
    write_modules,
    write_pooling,
    write_sentence_transformer,
    write_tokenizing,
)
from cocite.verification import open_verified

FormName = Literal["sentence-transformers", "cross-encoder", "sequence-classification", "encoder", "cocite"]
CONFIG, WEIGHTS = "config.json", "model.safetensors"
OWN_CONFIG = "cocite_config.json"
"""The configuration of a part whose ``config.json`` is another one in a repository."""


def form_of(part: Part) -> FormName:
    """How other libraries can load a part.

    Raises:
        CociteError: the configuration of a cross-encoder is damaged.

    Example:
        >>> from cocite.manifests import Manifest
        >>> [form_of(Part(name, Path(name), Manifest(name, {}, {}))) for name in ("sentence", "hatten", "masked-lm")]
        ['sentence-transformers', 'cocite', 'encoder']
    """
    kind = part.manifest.kind
    if kind in (SENTENCE, BI_ENCODER):
        return "sentence-transformers"
    if kind == CROSS_ENCODER:
        config = read_json(part.folder / CONFIG)
        own = cross_encoder_config(part.folder)
        if own.readout != "first":
            return "encoder"
        if not own.pooled:
            return "cross-encoder"
        return "sequence-classification" if config.get("model_type") == "bert" else "encoder"
    return "encoder" if kind == "masked-lm" else "cocite"


def cross_encoder_config(folder: Path) -> CrossEncoderConfig:
    """The settings of a cross-encoder's artifact.

    Raises:
        CociteError: they are damaged.
    """
    data = read_json(folder / CONFIG)
    own = data.get(OWN, {}) if isinstance(data, dict) else {}
    return CrossEncoderConfig.parse(own, where=str(folder / CONFIG))


def sentence_settings(folder: Path) -> SentenceSettings:
    """The settings of a sentence encoder's artifact.

    Raises:
        CociteError: they are damaged.
    """
    return SentenceSettings.parse(read_json(folder / SETTINGS), where=str(folder / SETTINGS))


def add_form(part: Part, form: FormName, folder: Path) -> None:
    """Give a copy of a part's files the form.

    Args:
        part: the part.
        form: what :func:`form_of` said.
        folder: holds a copy of the part's files.
    """
    if form == "sentence-transformers":
        _sentence_transformer(folder)
    elif form == "cross-encoder":
        _cross_encoder(part, folder)
    elif form == "sequence-classification":
        _sequence_classifier(folder)


def restore_file(form: str, folder: Path, name: str, target: Path) -> Path:
    """Write a file of a part from what its form has in its place.

    Args:
        form: of the part.
        folder: of the part in a repository.
        name: of the file in the part.
        target: the file to write.

    Returns:
        The file that it was made of.

    Raises:
        IntegrityError: that file is no safetensors file, where it should be one.
    """
    changed = form == "sequence-classification"
    source = folder / (OWN_CONFIG if changed and name == CONFIG else name)
    if changed and name == WEIGHTS:
        rename_tensors(source, target, _part_name)
    else:
        shutil.copyfile(source, target)
    return source


# -- sentence-transformers --------------------------------------------------------------------------------------


def _sentence_transformer(folder: Path) -> None:
    if not (folder / MODULES).is_file():  # a bi-encoder's artifact has these files already
        write_sentence_transformer(folder, sentence_settings(folder))


def _cross_encoder(part: Part, folder: Path) -> None:
    """The score is a linear layer over the first token's state, so it is a Pooling module and a Dense one."""
    # The weights are those of a copy of an artifact; the artifact itself is checked.
    open_verified(part.folder, kind=CROSS_ENCODER)
    with safe_open(folder / WEIGHTS, "pt") as weights:
        head = {
            f"linear.{name}": weights.get_tensor(f"head.{name}").contiguous() for name in ("weight", "bias")
        }
    modules = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Dense", "2_Dense")]
    general = {"model_type": "CrossEncoder", "activation_fn": "torch.nn.modules.activation.Sigmoid"}
    write_modules(folder, modules, general)
    write_tokenizing(folder, cross_encoder_config(folder).pairs.total)
    write_pooling(folder, "cls")
    dense = {
        "in_features": head["linear.weight"].shape[1],
        "out_features": 1,
        "bias": True,
        "activation_function": "torch.nn.modules.linear.Identity",
        "module_input_name": "sentence_embedding",
        "module_output_name": "scores",
    }
    (folder / "2_Dense").mkdir()
    write_json(folder / "2_Dense" / CONFIG, dense)
    save_file(head, folder / "2_Dense" / WEIGHTS, {"format": "pt"})


# -- a sequence classifier ----------------------------------------------------------------------------------------

_HEAD, _CLASSIFIER, _TRUNK = "head.", "classifier.", "bert."


def _classifier_name(name: str) -> str:
    return _CLASSIFIER + name.removeprefix(_HEAD) if name.startswith(_HEAD) else _TRUNK + name


def _part_name(name: str) -> str:
    if name.startswith(_CLASSIFIER):
        return _HEAD + name.removeprefix(_CLASSIFIER)
    return name.removeprefix(_TRUNK)


def _sequence_classifier(folder: Path) -> None:
    config = read_json(folder / CONFIG)
    (folder / CONFIG).rename(folder / OWN_CONFIG)
    changed = {"architectures": ["BertForSequenceClassification"]}
    labels = {"id2label": {"0": "RELEVANCE"}, "label2id": {"RELEVANCE": 0}}
    write_json(folder / CONFIG, {**config, **changed, **labels})
    own = folder / f"{WEIGHTS}.own"
    (folder / WEIGHTS).rename(own)
    rename_tensors(own, folder / WEIGHTS, _classifier_name)
    own.unlink()
