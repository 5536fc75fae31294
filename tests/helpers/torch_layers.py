"""torch's transformer layer with the weights of one of ours: what ours must equal."""

from __future__ import annotations

import torch
from torch import nn


def torch_layer(
    layer: nn.Module, width: int, heads: int, inner: int, *, pre: bool = False
) -> nn.TransformerEncoderLayer:
    """The layer of torch for one whose parts have the names used here; ``pre``: norms stand before the branches."""
    theirs = nn.TransformerEncoderLayer(width, heads, inner, dropout=0.0, batch_first=True, norm_first=pre)
    pairs = {
        "project": theirs.self_attn,
        "output": theirs.self_attn.out_proj,
        "widen": theirs.linear1,
        "narrow": theirs.linear2,
        "attention_norm": theirs.norm1,
        "forward_norm": theirs.norm2,
    }
    with torch.no_grad():
        for name, module in pairs.items():
            own = getattr(layer, name)
            prefix = "in_proj_" if name == "project" else ""
            factor = getattr(layer, "size", 1.0) if name in ("output", "narrow") else 1.0
            getattr(module, f"{prefix}weight").copy_(factor * own.weight)
            getattr(module, f"{prefix}bias").copy_(factor * own.bias)
    return theirs
