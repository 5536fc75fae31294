"""How long an editor waits for completions, while an author types keys into a draft.

    .venv/bin/python -m benchmarks.language_server --index INDEX [--model MODEL] [--gaps 20]

The started server is spoken to as an editor does it: for each of some gaps of a draft, the citation is opened and a
word of a title is typed letter by letter, and each letter is a change and a request. The first request of a gap finds
its papers; the later ones choose among them. The first gap of all warms the server up and is left out.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from pathlib import Path

import numpy as np
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from cocite.cli.console import print_table

URI = "untitled:draft"
TYPED = "translation"
TOPICS = (
    "neural machine translation with attention", "dependency parsing of long sentences",
    "summaries of news that are measured by n-grams", "word vectors that are learned without labels",
    "named entities in biomedical text", "coreference with features of mentions", "sentiment of short messages",
    "language models of characters", "alignments of words in two languages", "questions about a paragraph",
)  # fmt: skip
HEAD = (
    "\\documentclass{article}\n\\title{On models of language}\n\\begin{document}\n\\begin{abstract}\n"
    "We train neural models of language and measure them on several tasks.\n\\end{abstract}\n\\section{Introduction}\n"
)
PARAGRAPH = (
    "We \\emph{train} a model on text of many kinds, and measure what it has learned~\\citep{own2001}. "
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--gaps", type=int, default=20, help="citations of the draft that are typed")
    options = parser.parse_args()
    first, typed = asyncio.run(measure(options.index, options.model, options.gaps))
    rows = [
        (name, len(times), *(round(1000 * float(np.percentile(times, p))) for p in (50, 95, 100)))
        for name, times in (("opening a citation", first), ("a letter of the key", typed))
    ]
    print_table("an editor's wait", ["for", "requests", "p50 ms", "p95 ms", "longest ms"], rows)


async def measure(index: Path, model: Path | None, gaps: int) -> tuple[list[float], list[float]]:
    """Seconds of each request: the first of each gap, and those of the letters after it."""
    client = LanguageClient("benchmark", "1")
    with_model = ["--model", str(model)] if model else []
    await client.start_io(
        sys.executable, "-m", "cocite", "language-server", "--index", str(index), *with_model
    )
    await client.initialize_async(types.InitializeParams(types.ClientCapabilities()))
    client.initialized(types.InitializedParams())
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(URI, "latex", 0, HEAD))
    )
    first: list[float] = []
    typed: list[float] = []
    version = 0
    for gap in range(gaps + 1):
        before = f"{HEAD}{(PARAGRAPH * 5 + chr(10) * 2) * gap}Others have studied {topic(gap)}~\\cite{{"
        for letters in range(len(TYPED) + 1):
            version += 1
            text = before + TYPED[:letters]
            begin = time.perf_counter()
            found = await complete(client, version, text, f"{text}}}, as we do.\n")
            seconds = time.perf_counter() - begin
            if letters == 0 and not found:
                raise SystemExit("the server found no paper: the times would say nothing")
            if gap:
                (typed if letters else first).append(seconds)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return first, typed


def topic(gap: int) -> str:
    """What a sentence is about; each gap's is another."""
    return f"{TOPICS[gap % len(TOPICS)]} in {1990 + gap}"


async def complete(client: LanguageClient, version: int, before: str, text: str) -> int:
    """How many papers are offered at the end of ``before``, the beginning of the changed ``text``."""
    changed = types.VersionedTextDocumentIdentifier(version, URI)
    whole = types.TextDocumentContentChangeWholeDocument(text)
    client.text_document_did_change(types.DidChangeTextDocumentParams(changed, [whole]))
    lines = before.split("\n")
    place = types.Position(len(lines) - 1, len(lines[-1]))
    answer = await client.text_document_completion_async(
        types.CompletionParams(types.TextDocumentIdentifier(URI), place)
    )
    assert isinstance(answer, types.CompletionList)
    return len(answer.items)


if __name__ == "__main__":
    main()
