"""Draws ``architecture.svg``, the picture of docs/architecture.md: ``python docs/images/architecture.py``.

Boxes are code, cylinders are artifacts on disk. Each box names the folder that holds the code, so a test can check that
the picture names nothing that is not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

WIDTH, HEIGHT = 1040, 630
INK, MUTED, PAPER = "#1c2733", "#5b6b7b", "#ffffff"
FILLS = {
    "corpus": "#e3eefb",
    "train": "#e6f4e6",
    "search": "#fdf1dc",
    "serve": "#f6e4f0",
    "artifact": "#eceff2",
}


@dataclass(frozen=True)
class Box:
    """A part of the picture.

    Attributes:
        x, y, width, height: its place, in pixels.
        title: what it does.
        folder: the folder of its code, from the root of the repository; empty for an artifact.
        lines: further lines of text.
        fill: key of ``FILLS``.
    """

    x: int
    y: int
    width: int
    height: int
    title: str
    folder: str = ""
    lines: tuple[str, ...] = ()
    fill: str = "artifact"

    def left(self) -> tuple[int, int]:
        """The middle of the left side."""
        return self.x, self.y + self.height // 2

    def right(self) -> tuple[int, int]:
        """The middle of the right side."""
        return self.x + self.width, self.y + self.height // 2

    def top(self) -> tuple[int, int]:
        """The middle of the top edge."""
        return self.x + self.width // 2, self.y

    def bottom(self) -> tuple[int, int]:
        """The middle of the bottom edge."""
        return self.x + self.width // 2, self.y + self.height


IMPORT = Box(
    24, 70, 190, 92, "import", "platform/cocite/corpus", ("records, rules,", "splits, history"), "corpus"
)
STORE = Box(278, 76, 150, 80, "corpus store")
JOBS = Box(
    24,
    226,
    190,
    104,
    "training job",
    "jobs/cocite_jobs",
    ("recipe, workers on Ray,", "checkpoints, MLflow"),
    "train",
)
SWEEP = Box(24, 394, 190, 92, "sweep", "tuning/cocite_tuning", ("space, trials,", "champion"), "train")
SYSTEMS = Box(
    258,
    226,
    240,
    104,
    "systems",
    "platform/cocite/systems",
    ("citeomatic, hatten, mp_bert4cr,", "cross_encoder, learned_fusion …"),
    "train",
)
ENGINE = Box(
    258,
    394,
    196,
    92,
    "training engine",
    "platform/cocite/training/engine",
    ("one loop: one process,", "DDP, ZeRO 1 to 3"),
    "train",
)
BLOCKS = Box(
    258, 530, 240, 76, "building blocks", "platform/cocite/nn", ("packed attention, backbones",), "train"
)
MODEL = Box(552, 238, 150, 80, "model folder")
INDEX = Box(552, 76, 150, 80, "index folder")
RETRIEVAL = Box(
    756,
    62,
    260,
    108,
    "retrieval",
    "platform/cocite/retrieval",
    ("BM25, vectors, citing sentences,", "authors, neighbours"),
    "search",
)
PIPELINE = Box(
    756,
    226,
    260,
    104,
    "pipeline",
    "platform/cocite/pipeline",
    ("first stage → second stage", "→ explanations"),
    "search",
)
SERVE = Box(756, 394, 260, 92, "endpoint", "serve/cocite_serve", ("gateway, retriever, reranker",), "serve")
EVALUATION = Box(
    540, 394, 184, 92, "evaluation", "platform/cocite/evaluation", ("qrels, runs, metrics",), "search"
)
BOXES = (IMPORT, JOBS, SWEEP, SYSTEMS, ENGINE, BLOCKS, RETRIEVAL, PIPELINE, SERVE, EVALUATION)
ARTIFACTS = (STORE, MODEL, INDEX)

ARROWS = (
    (IMPORT.right(), STORE.left(), ""),
    (STORE.right(), INDEX.left(), "index build"),
    ((353, 156), (353, 226), "train split"),
    (JOBS.right(), SYSTEMS.left(), ""),
    (SYSTEMS.right(), MODEL.left(), ""),
    ((356, 330), (356, 394), "task"),
    ((476, 330), (476, 530), "layers"),
    (SWEEP.top(), JOBS.bottom(), "one job a trial"),
    (MODEL.top(), INDEX.bottom(), "vectors"),
    (INDEX.right(), RETRIEVAL.left(), ""),
    (MODEL.right(), PIPELINE.left(), ""),
    (RETRIEVAL.bottom(), PIPELINE.top(), "candidates"),
    (PIPELINE.bottom(), SERVE.top(), "ranking"),
    ((776, 330), (712, 394), ""),
)


def text(
    x: int, y: int, words: str, *, size: int = 13, weight: int = 400, fill: str = INK, anchor: str = "middle"
) -> str:
    """One line of text."""
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{fill}" '
        f'text-anchor="{anchor}">{escape(words)}</text>'
    )


def draw_box(box: Box) -> str:
    """A rounded rectangle: title, folder, lines."""
    middle = box.x + box.width // 2
    parts = [
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="10" fill="{FILLS[box.fill]}" '
        f'stroke="{MUTED}"/>',
        text(middle, box.y + 24, box.title, size=16, weight=600),
        text(middle, box.y + 43, box.folder, size=11, fill=MUTED),
    ]
    parts += [text(middle, box.y + 64 + 18 * number, line) for number, line in enumerate(box.lines)]
    return "\n".join(parts)


def draw_artifact(box: Box) -> str:
    """A cylinder."""
    x, y, w, h, r = box.x, box.y, box.width, box.height, 11
    side = f"M{x},{y + r} v{h - 2 * r} a{w / 2},{r} 0 0 0 {w},0 v-{h - 2 * r}"
    return "\n".join(
        [
            f'<path d="{side}" fill="{FILLS["artifact"]}" stroke="{MUTED}"/>',
            f'<ellipse cx="{x + w / 2}" cy="{y + r}" rx="{w / 2}" ry="{r}" fill="{FILLS["artifact"]}" '
            f'stroke="{MUTED}"/>',
            text(x + w // 2, y + h // 2 + 12, box.title, size=15, weight=600),
        ]
    )


def draw_arrow(start: tuple[int, int], end: tuple[int, int], label: str) -> str:
    """A line with a head, and what flows along it."""
    parts = [
        f'<line x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}" stroke="{INK}" stroke-width="1.4" '
        'marker-end="url(#head)"/>'
    ]
    if label:
        x, y = (start[0] + end[0]) // 2, (start[1] + end[1]) // 2
        across = start[1] == end[1]
        parts.append(
            text(
                x if across else x + 8,
                y - 7 if across else y + 4,
                label,
                size=12,
                fill=MUTED,
                anchor="middle" if across else "start",
            )
        )
    return "\n".join(parts)


def drawing() -> str:
    """The whole picture as SVG."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" role="img">',
            "<title>How cocite's parts fit together</title>",
            f'<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
            f'orient="auto"><path d="M0,0 L10,5 L0,10 z" fill="{INK}"/></marker></defs>',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{PAPER}"/>',
            text(
                24,
                34,
                "Boxes are code, with their folder; cylinders are artifacts on disk.",
                size=13,
                fill=MUTED,
                anchor="start",
            ),
            *(draw_arrow(*arrow) for arrow in ARROWS),
            *(draw_box(box) for box in BOXES),
            *(draw_artifact(box) for box in ARTIFACTS),
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(drawing(), encoding="utf-8")
