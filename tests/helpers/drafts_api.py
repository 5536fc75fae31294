"""A draft of several files, and the API over stages in this process that answers it."""

from __future__ import annotations

import base64
import json
from typing import Any

from helpers.api_backend import LIMITS, InProcess, client

MAIN = r"""\documentclass{article}
\title{Neural machine translation}
\begin{document}
Self-attention replaced recurrence \cite{vaswani}, as others say \cite{gone}.
Rare words are split into subword units \cite{?}.
\input{parts/scores}
\bibliography{refs}
\end{document}
"""
PART = "Translations are compared with references by BLEU [CIT].\n"
REFS = """@misc{vaswani, title={Attention Is All You Need}, year=2017}
@misc{bleu, title={BLEU: a Method for Automatic Evaluation of Machine Translation}}
"""
FILES = {"main.tex": MAIN, "parts/scores.tex": PART, "refs.bib": REFS}
SLOW = {"draft_s": 120.0, "draft_bytes": 20_000, "draft_gaps": 3}
"""The limits of the other tests, with time for a machine that does other things too."""


def sent(files: dict[str, str | bytes]) -> list[dict[str, str]]:
    """Files as a request has them."""
    return [
        {"name": name, "text": data}
        if isinstance(data, str)
        else {"name": name, "base64": base64.b64encode(data).decode()}
        for name, data in files.items()
    ]


def served(backend: InProcess, **changes: Any) -> Any:
    """The API, with the limits of tests."""
    limits = LIMITS.model_copy(update=SLOW | changes.pop("limits", {}))
    return client(backend, request_timeout_s=150, **changes, limits=limits)


def lines(served: Any, files: dict[str, Any], **options: Any) -> list[Any]:
    """The lines of the answer to a draft."""
    answer = served.post("/v1/draft", json={"files": sent(files), **options})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]
