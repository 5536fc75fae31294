"""Code that loads the parts of a repository, for its model card; the tests run it."""

from __future__ import annotations

from cocite.pipeline.huggingface.forms import FormName, cross_encoder_config, sentence_settings
from cocite.pipeline.huggingface.parts import Part

DOWNLOAD = """from huggingface_hub import snapshot_download

folder = snapshot_download("USER/NAME")  # or the path of this folder"""
"""Comes before the code of every part, which starts from ``folder``."""
_STATES = {
    "mean": "(states * mask).sum(1) / mask.sum(1)",
    "cls": "states[:, 0]",
    "max": "states.masked_fill(mask == 0, -torch.inf).amax(1)",
}
"""Pooling -> how it is computed of states and mask; the others need sentence-transformers."""


def usage_of(part: Part, form: FormName, path: str) -> list[tuple[str, str]]:
    """How a part is loaded without cocite.

    Args:
        part: the part.
        form: of its files.
        path: of its files in the repository; empty: the repository itself.

    Returns:
        Sentences, and the code that each introduces; none for a part that cocite alone loads.

    Example:
        >>> from pathlib import Path
        >>> from cocite.manifests import Manifest
        >>> usage_of(Part("hatten", Path("hatten"), Manifest("hatten", {}, {})), "cocite", "hatten")
        []
    """
    where = f'f"{{folder}}/{path}"' if path else "folder"
    if form == "sentence-transformers":
        return _sentence(part, where)
    if form == "cross-encoder":
        return [(_PAIRS + " By sentence-transformers:", _cross_encoder(part, where))]
    if form == "sequence-classification":
        return [
            (_PAIRS + " By transformers:", _classifier(part, where)),
            ("By sentence-transformers:", _cross_encoder(part, where)),
        ]
    if form == "encoder" and part.manifest.kind == "cross-encoder":
        return _backbone(part, where)
    return [("By transformers, the encoder:", _encoder(where))] if form == "encoder" else []


def _sentence(part: Part, where: str) -> list[tuple[str, str]]:
    settings = sentence_settings(part.folder)
    prompts = bool(settings.query_prompt or settings.document_prompt)
    ask = (', prompt_name="query"', ', prompt_name="document"') if prompts else ("", "")
    separator = settings.separator
    text = f"""from sentence_transformers import SentenceTransformer

model = SentenceTransformer({where})
queries = model.encode(["Rare words are split into subword units."]{ask[0]})
# A paper is its title and abstract, with {separator!r} between them.
papers = model.encode(["Neural Machine Translation of Rare Words with Subword Units"]{ask[1]})
scores = queries @ papers.T"""
    code = [("By sentence-transformers:", text)]
    if settings.pooling in _STATES and not settings.lower_case:
        code.append(("By transformers:", _pooled(part, where)))
    return code


def _pooled(part: Part, where: str) -> str:
    settings = sentence_settings(part.folder)
    prompt = repr(settings.query_prompt) + " + " if settings.query_prompt else ""
    return f"""import torch
from transformers import AutoModel, AutoTokenizer

tokenizer, model = AutoTokenizer.from_pretrained({where}), AutoModel.from_pretrained({where})
texts = [{prompt}"Rare words are split into subword units."]
options = {{"padding": True, "truncation": True, "max_length": {settings.max_tokens}, "return_tensors": "pt"}}
tokens = tokenizer(texts, **options)
with torch.no_grad():
    states, mask = model(**tokens).last_hidden_state, tokens["attention_mask"][..., None]
vectors = torch.nn.functional.normalize({_STATES[settings.pooling]}, dim=1)"""


_PAIRS = (
    "A pair is the query and a paper's title and abstract, which a full stop joins. Texts that are together longer "
    "than the budgets are cut in another way than in cocite."
)


def _query(part: Part, tokenizer: str) -> str:
    """The line that sets ``query``, and what its parts are."""
    pairs = cross_encoder_config(part.folder).pairs
    if pairs.layout == "global":
        return (
            'query = "Machine translation. We translate rare words."  # title and abstract of the manuscript'
        )
    gap = f"{{{tokenizer}.mask_token}}" if pairs.gap == "mask" else pairs.gap
    context, citing = (
        f"Rare words are split {gap} into units.",
        "Machine translation. We translate rare words.",
    )
    parts = (context, citing) if pairs.context == "first" else (citing, context)
    comment = "# the sentence with the gap, and title and abstract of the manuscript"
    return f'{comment}\nquery = f"{" ".join(parts)}"'


def _tokens(part: Part) -> str:
    total = cross_encoder_config(part.folder).pairs.total
    return f'tokenizer(query, paper, truncation=True, max_length={total}, return_tensors="pt")'


def _paper() -> str:
    return 'paper = "Neural Machine Translation of Rare Words with Subword Units. We segment words."'


def _cross_encoder(part: Part, where: str) -> str:
    return f"""import torch
from sentence_transformers import CrossEncoder

model = CrossEncoder({where})
{_query(part, "model.tokenizer")}
{_paper()}
relevance = model.predict([(query, paper)])  # in [0, 1]
score = model.predict([(query, paper)], activation_fn=torch.nn.Identity())  # cocite's score"""


def _classifier(part: Part, where: str) -> str:
    return f"""import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained({where})
model = AutoModelForSequenceClassification.from_pretrained({where})
{_query(part, "tokenizer")}
{_paper()}
tokens = {_tokens(part)}
with torch.no_grad():
    score = model(**tokens).logits[0]"""


def _backbone(part: Part, where: str) -> list[tuple[str, str]]:
    own = cross_encoder_config(part.folder)
    if own.readout != "similarity":
        return [("By transformers, the encoder without its head:", _encoder(where))]
    code = f"""import torch
from safetensors.torch import load_file
from transformers import AutoModel, AutoTokenizer

tokenizer, model = AutoTokenizer.from_pretrained({where}), AutoModel.from_pretrained({where})
weights = load_file({where} + "/model.safetensors")
{_query(part, "tokenizer")}
{_paper()}
tokens = {_tokens(part)}
with torch.no_grad():
    states, sides = model(**tokens).last_hidden_state[0], tokens["token_type_ids"][0]
    cosine = torch.cosine_similarity(states[sides == 0].sum(0), states[sides == 1].sum(0), dim=0)
    score = weights["similarity.sharpness"].exp() * cosine
    score = score + states[0] @ weights["head.weight"][0] + weights["head.bias"]"""
    return [(_PAIRS + " By transformers; no class of it has this head:", code)]


def _encoder(where: str) -> str:
    return f"""from transformers import AutoModel, AutoTokenizer

tokenizer, model = AutoTokenizer.from_pretrained({where}), AutoModel.from_pretrained({where})
states = model(**tokenizer("Rare words are split into units.", return_tensors="pt")).last_hidden_state"""
