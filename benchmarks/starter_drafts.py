"""Ranks of the papers that a reader would expect in the gaps of the starter drafts, as a Markdown table.

    python -m benchmarks.starter_drafts before=demo-before after=demo

Each argument is a name for a column and the folder of a ``cocite demo``, whose model and index answer.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cocite.pipeline.recommender import Recommender
from cocite_jobs.demo import DemoFolders
from cocite_jobs.starter_drafts import rank_expected


def main(arguments: list[str]) -> None:
    columns = {}
    for argument in arguments:
        name, separator, folder = argument.partition("=")
        if not separator:
            sys.exit(f"{argument}: write NAME=FOLDER")
        folders = DemoFolders.under(Path(folder))
        columns[name] = rank_expected(Recommender.load(folders.model, folders.index))
    if not columns:
        sys.exit("name at least one folder of a demo: NAME=FOLDER")
    print("| draft | gap | expected paper |", " | ".join(columns), "|")
    print("| --- | --- | --- |", " | ".join("---" for _ in columns), "|")
    for papers in zip(*columns.values(), strict=True):
        first, ranks = papers[0], " | ".join(paper.rank_text for paper in papers)
        print(f"| {first.draft} | {first.gap} | {first.title} | {ranks} |")


if __name__ == "__main__":
    main(sys.argv[1:])
