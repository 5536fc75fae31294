"""A frozen trunk: a pretrained encoder of sentences, whose vectors are computed once and read by a trained hierarchy.

The trunk's vocabulary is that of the sentences, so that the same tokens give the words' vectors and the trunk's.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file

from cocite.artifacts import sha256
from cocite.bounds import Location
from cocite.config import Settings
from cocite.errors import ConfigError, NotFoundError
from cocite.manifests import MANIFEST, read_manifest
from cocite.nn import pretrained_transformers as backbones
from cocite.nn.layer_flops import layer_flops
from cocite.nn.precision import inference_dtype
from cocite.nn.weight_files import weights_of
from cocite.systems.mp_bert4cr.sentence_memory import SentenceMemory
from cocite.systems.sentence_encoder.forward import forward_of
from cocite.text.documents import Documents
from cocite.text.token_lists import TokenLists

NO_TRUNK = "none"
"""The value of ``encoder`` where there is no trunk."""


class TrunkSettings(Settings):
    """A pretrained encoder whose weights stay as they are.

    Example:
        >>> TrunkSettings(encoder="masked-lm", layers=2).components
        ('masked-lm',)
        >>> TrunkSettings(encoder="models/minilm").components, TrunkSettings().is_there
        ((), False)
    """

    encoder: Location = NO_TRUNK
    """An artifact of the model folder (a name without a slash, as ``masked-lm``), the path of a folder as Hugging Face
    writes it, which every worker must see, or a name of its hub with a slash; ``none``: no trunk."""
    layers: backbones.Layers = None
    """Its lower layers that are kept; unset: all."""

    @property
    def is_there(self) -> bool:
        """Whether there is a trunk."""
        return self.encoder != NO_TRUNK

    @property
    def components(self) -> tuple[str, ...]:
        """The artifact of the model folder that it is, if it is one."""
        return (self.encoder,) if self.is_there and "/" not in self.encoder else ()

    def place(self, model_folder: Path) -> str:
        """The folder or name that it is loaded from.

        Raises:
            NotFoundError: the model folder holds no artifact of its name.
        """
        if not self.components:
            return self.encoder
        folder = Path(model_folder) / self.encoder
        if not folder.is_dir():
            raise NotFoundError(
                f"holds no {self.encoder}, which is to be the trunk",
                where=str(model_folder),
                hint=f"train it into this folder first (cocite train {self.encoder} …), or give the trunk's path, "
                "with a slash",
            )
        return str(folder)

    def fingerprints(self, model_folder: Path) -> dict[str, str]:
        """What tells one trunk from another of the same name or path: its artifact's digest, or that of its files."""
        if not self.is_there:
            return {}
        place = self.place(model_folder)
        folder = Path(place)
        if not folder.is_dir():
            return {self.encoder: self.encoder}
        if (folder / MANIFEST).is_file():
            return {self.encoder: read_manifest(folder).digest}
        return {self.encoder: _digest(folder)}


class SentenceTrunk:
    """Computes the unit vectors of sentences: the mean of their tokens' states.

    Args:
        model: a Hugging Face encoder, in fp32, on the CPU. The trunk owns it, and may take it apart.
        tokenizer: its tokenizer.
        dtype: the precision to compute in; None: the fastest on this machine.
        id_: see below.

    Attributes:
        id: tells it from other trunks: a digest of its files.
        memory: keeps what it computes; None: nothing is kept.

    Example:
        >>> from transformers import BertConfig, BertModel
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> tokenizer = train_wordpiece(lambda: ["graph parsing", "neural parsing"], size=60)
        >>> size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
        >>> bert = BertModel(BertConfig(vocab_size=len(tokenizer), **size)).eval()
        >>> trunk = SentenceTrunk(bert, tokenizer, dtype=torch.float32)
        >>> document = Documents(torch.tensor([5, 6, 3, 7, 3]), torch.tensor([0, 3, 5]), torch.tensor([0, 2]))
        >>> trunk.read(document).vectors.shape
        torch.Size([2, 16])
    """

    def __init__(
        self, model: Any, tokenizer: Any, *, dtype: torch.dtype | None = None, id_: str = ""
    ) -> None:
        self.id = id_
        self.memory: SentenceMemory | None = None
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        begin = tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id
        self._begin = np.array([] if begin is None else [begin], np.int32)
        config = model.config
        self.width, self._layers = int(config.hidden_size), int(config.num_hidden_layers)
        self._inner = int(getattr(config, "intermediate_size", 4 * self.width))
        self.forward = forward_of(
            model.eval(),
            "mean",
            device=self.device,
            dtype=dtype or inference_dtype(self.device),
            pad=tokenizer.pad_token_id or 0,
        )

    def vectors(self, sentences: TokenLists) -> NDArray[np.float32]:
        """(n, t) unit vectors of sentences, each of which ends with the end token."""
        return (
            self._compute(sentences) if self.memory is None else self.memory.vectors(sentences, self._compute)
        )

    def _compute(self, sentences: TokenLists) -> NDArray[np.float32]:
        n = len(sentences)
        if not n:
            return np.zeros((0, self.width), np.float32)
        begin = TokenLists(self._begin, np.zeros(n, np.int64), np.full(n, len(self._begin), np.int64))
        return self.forward.vectors(TokenLists.joined([begin, sentences]))

    def read(self, documents: Documents) -> Documents:
        """The same documents with the vectors of their sentences."""
        starts, counts = documents.sentences[:-1].numpy(), documents.lengths.numpy()
        sentences = TokenLists(documents.ids.numpy().astype(np.int32), starts, counts)
        vectors = torch.from_numpy(self.vectors(sentences))
        return Documents(documents.ids, documents.sentences, documents.documents, vectors)

    def flops(self, documents: Documents) -> float:
        """Floating-point operations of its layers for some documents."""
        lengths = documents.lengths.double() + len(self._begin)
        tokens, squares = float(lengths.sum()), float(lengths.square().sum())
        return float(self._layers * layer_flops(tokens, squares, hidden=self.width, inner=self._inner))


def load_backbone(settings: TrunkSettings, model_folder: Path, sentence_tokens: int) -> tuple[Any, Any]:
    """The trunk's encoder, with the layers that are kept, and its tokenizer.

    Args:
        settings: name it.
        model_folder: may hold it.
        sentence_tokens: most tokens of a sentence.

    Raises:
        NotFoundError: there is no such encoder.
        ConfigError: it reads no text as long as a sentence.
    """
    place = settings.place(model_folder)
    pretrained = backbones.load(place, with_head=False)
    backbones.keep_layers(pretrained.backbone, settings.layers)
    backbones.drop_pooler(pretrained.backbone)
    reads = getattr(pretrained.backbone.config, "max_position_embeddings", None)
    if reads is not None and sentence_tokens + 1 > reads:
        raise ConfigError(
            f"texts.sentence_tokens is {sentence_tokens}, and the trunk reads {reads - 1} besides its first token",
            where=place,
        )
    return pretrained.backbone, pretrained.tokenizer


def save_backbone(settings: TrunkSettings, model_folder: Path, sentence_tokens: int, to: Path) -> None:
    """Copy the trunk, with the layers that are kept, into a folder that :func:`load_trunk` reads."""
    backbone, tokenizer = load_backbone(settings, model_folder, sentence_tokens)
    to.mkdir()
    backbone.config.save_pretrained(to)
    save_file(weights_of(backbone), to / "model.safetensors", {"format": "pt"})
    tokenizer.save_pretrained(to)


def load_trunk(folder: Path, *, dtype: torch.dtype | None = None) -> SentenceTrunk:
    """The trunk of a folder that :func:`save_backbone` wrote."""
    pretrained = backbones.load(str(folder), with_head=False)
    return SentenceTrunk(pretrained.backbone, pretrained.tokenizer, dtype=dtype, id_=_digest(folder))


def _digest(folder: Path) -> str:
    """Of the files of a folder that Hugging Face wrote."""
    files = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".safetensors", ".txt"))
    text = "".join(f"{path.name} {sha256(path)}\n" for path in files)
    return hashlib.sha256(text.encode()).hexdigest()
