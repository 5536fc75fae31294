"""Blocks of vectors whose worker dies, or makes only some, for tests of embedding."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.protocols import Encoder
from cocite_jobs.steps.embedding.blocks import Blocks
from cocite_jobs.steps.parts import Part
from helpers.killed_driver import hold


class DyingBlocks(Blocks):
    """Kills its process once, when it is to make block 1."""

    def _make(self, corpus: Corpus, encoder: Encoder, part: Part) -> dict[str, Any]:
        died = Path(self.to.path).parent / "died"
        if part.arguments[0] == 1 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._make(corpus, encoder, part)


class HeldBlocks(Blocks):
    """Makes so many blocks as the test wants, and no more."""

    def _make(self, corpus: Corpus, encoder: Encoder, part: Part) -> dict[str, Any]:
        hold()
        return super()._make(corpus, encoder, part)
