"""Reads how a sentence-transformers folder makes its vectors: ``modules.json`` and the files it names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from huggingface_hub import hf_hub_download
from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.manifests import read_json
from cocite.systems.sentence_encoder.pooling import Pooling

POOLING_KEYS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""Key of a Pooling module's configuration -> pooling; every version of sentence-transformers reads these keys."""
_MODULES = ("Transformer", "Pooling", "Normalize")
_TOKENIZING = tuple(
    f"sentence_{name}_config.json"
    for name in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
_TEXT = {"method": "forward", "method_output_name": "last_hidden_state"}


@dataclass(frozen=True)
class FolderSettings:
    """How a sentence-transformers folder makes vectors.

    Attributes:
        transformer: subfolder of the encoder's weights and tokenizer; empty for the folder itself.
        pooling: see :data:`cocite.systems.sentence_encoder.pooling.Pooling`.
        include_prompt: whether the tokens of a prompt are pooled too.
        normalize: whether its vectors are unit vectors.
        similarity: what it compares them by: ``cosine``, ``dot``, ``euclidean`` or ``manhattan``.
        max_tokens: tokens of a text that it reads; None: as many as its tokenizer allows.
        lower_case: whether it lower-cases texts before its tokenizer reads them.
        query_prompt: text put before a query.
        document_prompt: text put before a paper.

    Example:
        >>> import json, tempfile
        >>> modules = [
        ...     {"type": "sentence_transformers.models.Transformer", "path": ""},
        ...     {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
        ... ]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "modules.json").write_text(json.dumps(modules))
        ...     settings = read_folder(folder)
        >>> settings.pooling, settings.normalize, settings.similarity
        ('mean', False, 'cosine')
    """

    transformer: str
    pooling: Pooling
    include_prompt: bool
    normalize: bool
    similarity: str
    max_tokens: int | None
    lower_case: bool
    query_prompt: str
    document_prompt: str


def read_folder(name_or_folder: str) -> FolderSettings | None:
    """The settings of a folder or of a name on the hub; None where there is no ``modules.json``.

    Raises:
        InputError: it has a module, or a setting of one, that cocite does not compute.
        IntegrityError: a file is not valid JSON.
        NotFoundError: the hub cannot be reached.
    """
    modules = _read(name_or_folder, "modules.json")
    if modules is None:
        return None
    transformer, pooling = _paths(modules, name_or_folder)[:2]
    files = (_read(name_or_folder, _within(transformer, name)) for name in _TOKENIZING)
    tokenizing: dict[str, Any] = next(filter(None, files), {})
    if (
        tokenizing.get("modality_config", {}).get("text", _TEXT) != _TEXT
        or tokenizing.get("transformer_task", "feature-extraction") != "feature-extraction"
    ):
        raise InputError("its module Transformer does more than to encode texts", where=name_or_folder)
    pooled = _read(name_or_folder, _within(pooling, "config.json")) or {}
    general = _read(name_or_folder, "config_sentence_transformers.json") or {}
    query, document = _prompts(general.get("prompts") or {}, general.get("default_prompt_name"))
    return FolderSettings(
        transformer=transformer,
        pooling=_pooling(pooled, name_or_folder),
        include_prompt=pooled.get("include_prompt", True),
        normalize=len(modules) == len(_MODULES),
        similarity=general.get("similarity_fn_name") or "cosine",
        max_tokens=tokenizing.get("max_seq_length"),
        lower_case=bool(tokenizing.get("do_lower_case")),
        query_prompt=query,
        document_prompt=document,
    )


def _paths(modules: Any, where: str) -> list[str]:
    """The modules' subfolders; refuses modules that cocite does not compute."""
    try:
        pairs = [(str(module["type"]), str(module["path"])) for module in modules]
    except (KeyError, TypeError) as error:
        raise IntegrityError("modules.json is no list of modules with type and path", where=where) from error
    for i, (type_, _) in enumerate(pairs):
        package, _, name = type_.rpartition(".")
        if i >= len(_MODULES) or name != _MODULES[i] or not package.startswith("sentence_transformers"):
            raise InputError(
                f"its module {type_} is not supported",
                where=where,
                hint="an encoder of Transformer, Pooling and perhaps Normalize, in this order, is",
            )
    if len(pairs) < 2:
        raise InputError("it has no module Pooling, which makes one vector of a text", where=where)
    return [path for _, path in pairs]


def _pooling(config: dict[str, Any], where: str) -> Pooling:
    """The pooling of a Pooling module's configuration, in its present or its earlier form."""
    named = config.get("pooling_mode") or [name for key, name in POOLING_KEYS.items() if config.get(key)]
    modes = [named] if isinstance(named, str) else named or ["mean"]
    for name in get_args(Pooling):
        if modes == [name]:
            mode: Pooling = name
            return mode
    raise InputError(
        f"its module Pooling asks for {' and '.join(modes)}, which is not supported", where=where
    )


def _prompts(prompts: dict[str, str], default: str | None) -> tuple[str, str]:
    """The prompts of queries and papers, by the names that sentence-transformers gives them, else the default one."""
    known = [("query",), ("document", "passage", "corpus")]
    names = [next((name for name in group if name in prompts), default) for group in known]
    if names[1] == "query":
        names[1] = None
    query, document = (prompts.get(name or "") or "" for name in names)
    return query, document


def _within(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _read(name_or_folder: str, file: str) -> Any:
    """A JSON file's content; None where there is no such file."""
    folder = Path(name_or_folder)
    if folder.is_dir():
        return read_json(folder / file) if (folder / file).is_file() else None
    try:
        return read_json(Path(hf_hub_download(name_or_folder, file)))
    except LocalEntryNotFoundError as error:
        raise NotFoundError(
            f"{file} is not in the cache, and no model hub can be reached that tells whether there is one",
            where=name_or_folder,
            hint="copy the model here and name its folder",
        ) from error
    except EntryNotFoundError:
        return None
