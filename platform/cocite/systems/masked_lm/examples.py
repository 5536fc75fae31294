"""Examples of a masked-language training: pieces of text with some tokens hidden.

Which tokens are hidden in a text is a function of seed, epoch, the text's number and the token's position, so that each
epoch hides others (dynamic masking: Liu et al. 2019, section 4.1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from cocite.sampling.draws import mix_bits
from cocite.systems.masked_lm.network import MaskedBatch
from cocite.systems.masked_lm.recipe import MaskingSettings
from cocite.text.token_lists import TokenLists, spans


class TokenHider:
    """Hides tokens of texts.

    Args:
        settings: which tokens are hidden, and how.
        tokenizer: a Hugging Face tokenizer.
        seed: of the training.

    Example:
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> tokenizer = train_wordpiece(lambda: ["bm25 ranks documents well ."] * 2, 300)
        >>> texts = TokenLists.of([tokenizer("bm25 ranks documents well", add_special_tokens=False).input_ids])
        >>> hider = TokenHider(MaskingSettings(share=0.3, masked=1.0, replaced=0.0), tokenizer, seed=0)
        >>> batch = hider.hide(texts, np.array([0]), epoch=2)
        >>> tokenizer.decode(batch.ids[0]), tokenizer.decode(batch.answers)
        ('[CLS] bm25 ranks [MASK] well [SEP]', 'documents')
    """

    def __init__(self, settings: MaskingSettings, tokenizer: Any, seed: int) -> None:
        self.settings, self.tokenizer, self.seed = settings, tokenizer, seed

    def hide(self, pieces: TokenLists, examples: NDArray[np.int64], epoch: int) -> MaskedBatch:
        """Some texts between ``[CLS]`` and ``[SEP]``, with tokens hidden.

        Args:
            pieces: all texts.
            examples: (b,) the numbers of those that are wanted.
            epoch: of the random numbers.
        """
        texts, tokenizer = pieces.take(examples), self.tokenizer
        counts = texts.counts
        shape = (len(texts), int(counts.max()) + 2)
        column = np.arange(shape[1])
        ids = np.full(shape, tokenizer.pad_token_id, np.int64)
        inner = (column > 0) & (column <= counts[:, None])
        ids[:, 0] = tokenizer.cls_token_id
        ids[inner] = texts.ids[spans(texts.starts, counts)]
        ids[np.arange(len(texts)), counts + 1] = tokenizer.sep_token_id
        which, how, other = self._numbers(examples, shape[1], epoch)
        which = np.where(inner, which, np.inf)
        hidden = (which < self.settings.share) | (which == which.min(axis=1, keepdims=True))
        answers = ids[hidden]
        masked, replaced = self.settings.masked, self.settings.replaced
        ids[hidden & (how < masked)] = tokenizer.mask_token_id
        swapped = hidden & (how >= masked) & (how < masked + replaced)
        ids[swapped] = (other[swapped] * len(tokenizer)).astype(np.int64)
        return MaskedBatch(
            torch.from_numpy(ids),
            torch.from_numpy(column <= counts[:, None] + 1),
            torch.from_numpy(hidden),
            torch.from_numpy(answers),
        )

    def _numbers(self, examples: NDArray[np.int64], width: int, epoch: int) -> list[NDArray[Any]]:
        """Three random numbers in [0, 1) of each token (b, width): functions of seed, epoch, example and position."""
        keys = np.random.SeedSequence([self.seed, epoch]).generate_state(3, np.uint64)
        cell = (examples.astype(np.uint64)[:, None] << np.uint64(16)) + np.arange(width, dtype=np.uint64)
        return [(mix_bits(cell ^ key) >> np.uint64(11)) * 2.0**-53 for key in keys]
