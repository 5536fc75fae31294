"""How fast the hierarchical transformer trains: packed sentences against the same model padded, in one run.

    python benchmarks/mp_bert4cr_training.py [--corpus STORE] [--documents 256] [--hidden 192] [--layers 2]

The padded model is torch's own: ``nn.TransformerEncoder`` over all sentences, each padded to the longest of the batch,
and over all documents, each padded to the most sentences. Both have the same weights, and what they compute is checked
to agree. Timed are a forward and a backward pass, in turn; the best of some counts. Documents are those of the small
recipe (title, abstract, two sentences of the body): of a corpus where one is given, else of random tokens with lengths
like the ACL corpus'.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cocite.corpus.store import Corpus
from cocite.nn.layer_flops import layer_flops
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContextSettings
from cocite.systems.mp_bert4cr.encoder_inputs import EncoderInputs
from cocite.systems.mp_bert4cr.hierarchical_transformer import (
    HierarchicalEncoder,
    HierarchicalSettings,
    InputEmbedding,
    TransformerLayer,
)
from cocite.text.documents import Documents, bounds
from cocite.text.paper_text import paper_text
from cocite.text.sentence_texts import SentenceReader
from cocite.text.token_lists import TokenLists
from cocite.text.wordpiece import train_wordpiece
from cocite.training.engine.flops import measured_peak
from cocite.training.engine.memory import keep_freed_memory

VOCABULARY = 16_000


class Padded(nn.Module):
    """The encoder as torch's layers compute it, padded.

    Args:
        model: whose weights are taken.
    """

    def __init__(self, model: HierarchicalEncoder) -> None:
        super().__init__()
        self.model = model
        self.over_tokens = _encoder(model.sentence_layers)
        self.over_sentences = _encoder(model.document_layers)

    def forward(self, documents: Documents) -> Tensor:
        """(D, d) vectors of documents."""
        lengths, counts = documents.lengths, documents.document_lengths
        mask = torch.arange(int(lengths.max())) < lengths[:, None]
        ids = torch.zeros(mask.shape, dtype=torch.int64).masked_scatter(mask, documents.ids)
        states = _through(self.model.tokens, self.over_tokens, self.model.words(ids), mask)
        sentences = (states * mask[:, :, None]).sum(1).float() / lengths[:, None]
        held = torch.arange(int(counts.max())) < counts[:, None]
        table = sentences.new_zeros(*held.shape, sentences.shape[1]).masked_scatter(
            held[:, :, None], sentences
        )
        states = _through(self.model.sentences, self.over_sentences, table, held)
        found: Tensor = self.model.norm((states.float() * held[:, :, None]).sum(1))
        return found


def _through(
    embedding: InputEmbedding, encoder: nn.TransformerEncoder, states: Tensor, mask: Tensor
) -> Tensor:
    entering = embedding(states, torch.arange(mask.shape[1]))
    found: Tensor = encoder(entering, src_key_padding_mask=~mask)
    return found


def _encoder(layers: nn.ModuleList) -> nn.TransformerEncoder:
    """torch's encoder with the weights of ours."""
    made: list[nn.TransformerEncoderLayer] = []
    for layer in layers:
        assert isinstance(layer, TransformerLayer)
        s = layer.settings
        theirs = nn.TransformerEncoderLayer(
            s.hidden, s.heads, s.inner, dropout=0.0, batch_first=True, norm_first=s.norm == "pre"
        )
        names = {
            "self_attn.in_proj_weight": layer.project.weight,
            "self_attn.in_proj_bias": layer.project.bias,
            "self_attn.out_proj.weight": layer.size * layer.output.weight,
            "self_attn.out_proj.bias": layer.size * layer.output.bias,
            "linear1.weight": layer.widen.weight,
            "linear1.bias": layer.widen.bias,
            "linear2.weight": layer.size * layer.narrow.weight,
            "linear2.bias": layer.size * layer.narrow.bias,
            "norm1.weight": layer.attention_norm.weight,
            "norm1.bias": layer.attention_norm.bias,
            "norm2.weight": layer.forward_norm.weight,
            "norm2.bias": layer.forward_norm.bias,
        }
        theirs.load_state_dict({name: weight.detach() for name, weight in names.items()})
        made.append(theirs)
    result = nn.TransformerEncoder(made[0], len(made), enable_nested_tensor=False)
    result.layers = nn.ModuleList(made)
    return result


def real(corpus: Corpus, count: int, tokens: int) -> Documents:
    """Documents of a corpus' papers, evenly drawn."""
    rows = np.linspace(0, len(corpus) - 1, count).astype(np.int32)
    texts = [
        paper_text(*pair)
        for pair in zip(corpus.papers.take("title", rows), corpus.papers.take("abstract", rows), strict=True)
    ]
    reader = SentenceReader(train_wordpiece(lambda: texts, VOCABULARY), tokens)
    settings = DynamicContextSettings(abstract=6, body=2)
    return EncoderInputs(reader, settings, title=True, sentences=8).papers(corpus, rows)


def synthetic(count: int, tokens: int) -> Documents:
    """Documents of random tokens, as long as those of the ACL corpus."""
    rng = np.random.default_rng(0)
    sentences = rng.integers(5, 9, count)
    lengths = np.clip(rng.gamma(3.2, 8.0, sentences.sum()) + 3, 3, tokens).astype(np.int64)
    ids = rng.integers(0, VOCABULARY, lengths.sum()).astype(np.int32)
    return Documents.of(TokenLists(ids, bounds(lengths)[:-1], lengths), bounds(sentences))


def best(works: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """Seconds of the quickest of some calls of each, taken in turn after one that does not count."""
    found = [float("inf")] * len(works)
    for repeat in range(repeats + 1):
        for i, work in enumerate(works):
            began = time.perf_counter()
            work()
            if repeat:
                found[i] = min(found[i], time.perf_counter() - began)
    return found


def measure(documents: Documents, settings: HierarchicalSettings, repeats: int) -> list[dict[str, Any]]:
    """Both forms in both precisions."""
    torch.manual_seed(0)
    model = HierarchicalEncoder(settings, VOCABULARY)
    with torch.no_grad():
        for parameter in model.parameters():  # branches that begin at zero would hide what is wrong in them
            parameter += 0.02 * torch.randn_like(parameter)
    padded = Padded(model)
    slope = torch.randn(len(documents), settings.hidden)
    lengths, counts = documents.lengths.double(), documents.document_lengths.double()
    flops = 3 * sum(
        layers
        * layer_flops(
            float(rows.sum()), float(rows.square().sum()), hidden=settings.hidden, inner=settings.inner
        )
        for layers, rows in (
            (settings.sentence_layers, lengths),
            (settings.document_layers, counts),
        )
    )
    forms: dict[str, Callable[[], Tensor]] = {
        "padded": lambda: padded(documents),
        "packed": lambda: model(documents).documents,
    }
    grid = len(lengths) * float(lengths.max())
    tokens = float(lengths.sum())
    rows = []
    for precision in ("fp32", "bf16"):

        def forward(form: Callable[[], Tensor], half: bool = precision == "bf16") -> Tensor:
            with torch.autocast("cpu", torch.bfloat16, enabled=half):
                return form()

        def step(form: Callable[[], Tensor], of: Callable[[Callable[[], Tensor]], Tensor] = forward) -> None:
            torch.autograd.backward((of(form).float() * slope).sum())

        with torch.no_grad():
            vectors = [forward(form).float() for form in forms.values()]
        apart = float((vectors[0] - vectors[1]).abs().max() / vectors[0].std())
        if apart > (1e-3 if precision == "fp32" else 0.2):
            raise SystemExit(
                f"the two do not agree: {apart:.2g} of a standard deviation apart in {precision}"
            )
        seconds = best([lambda form=form, step=step: step(form) for form in forms.values()], repeats)  # type: ignore[misc]
        peak = measured_peak(torch.device("cpu"), precision, torch.get_num_threads())
        for name, taken in zip(forms, seconds, strict=True):
            rows.append(
                {
                    "precision": precision,
                    "form": name,
                    "seconds": taken,
                    "sentences/s": len(lengths) / taken,
                    "tokens/s": tokens / taken,
                    "padding": 1 - tokens / grid if name == "padded" else 0.0,
                    "GFLOP/s": flops / taken / 1e9,
                    "of the peak": flops / taken / peak,
                    "times padded": seconds[0] / taken,
                    "apart": apart,
                }
            )
    return rows


def main(arguments: Sequence[str] | None = None) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--documents", type=int, default=256)
    parser.add_argument("--hidden", type=int, default=192)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=64, help="of a sentence at most")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, help="file to write the results to")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    keep_freed_memory()  # as every training does
    documents = (
        real(Corpus.open(options.corpus), options.documents, options.tokens)
        if options.corpus
        else synthetic(options.documents, options.tokens)
    )
    settings = HierarchicalSettings(
        sentence_layers=options.layers,
        document_layers=1,
        hidden=options.hidden,
        heads=options.heads,
        inner=4 * options.hidden,
        dropout=0.0,
        norm="pre",
        sentence_tokens=options.tokens,
    )
    rows = measure(documents, settings, options.repeats)
    facts = {
        "documents": len(documents),
        "sentences": len(documents.lengths),
        "tokens": len(documents.ids),
        "real": options.corpus is not None,
        "hidden": options.hidden,
        "layers": options.layers,
        "threads": options.threads,
    }
    print("  ".join(f"{name} {value}" for name, value in facts.items()))
    for row in rows:
        print("  ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{v}" for k, v in row.items()))
    if options.json is not None:
        options.json.write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return rows


if __name__ == "__main__":
    main()
