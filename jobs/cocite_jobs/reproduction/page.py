"""Writes a reproduction as one page: ``index.html``, ``report.md`` and ``report.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from cocite.atomic_files import write_atomic
from cocite_jobs.html_pages import render_page
from cocite_jobs.reproduction.grid import Grid, side_by_side
from cocite_jobs.reproduction.plan import Exhibit, Plan, Setup
from cocite_jobs.reproduction.plots import draw
from cocite_jobs.reproduction.published import PublishedNumber, published_numbers
from cocite_jobs.reproduction.record import MadeExhibit
from cocite_jobs.reproduction.trial_statistics import Trials

ALIKE_STEPS = 1.25
"""A table whose models' steps differ by more than this factor says so."""


@dataclass(frozen=True)
class Shown:
    """An exhibit as it stands on the page.

    Attributes:
        exhibit: what it is.
        made: our numbers, and how they were made.
        published: the paper's.

    Example:
        >>> from cocite.evaluation.report import Table
        >>> exhibit = Exhibit("table2", "Table 2: systems", lambda setup: Table("", [], []), "cocite …")
        >>> made = MadeExhibit("table2", Table("Table 2", ["method", "MRR"], [["BM25", 0.4]]), 1.5, [])
        >>> Shown(exhibit, made, ()).grid.columns
        ['method', 'MRR']
    """

    exhibit: Exhibit
    made: MadeExhibit
    published: Sequence[PublishedNumber]

    @property
    def grid(self) -> Grid:
        """Our numbers with the paper's beside them."""
        return side_by_side(self.made.table, self.published, self.exhibit.names)

    @cached_property
    def figure(self) -> str | None:
        """An SVG element, where the exhibit is drawn."""
        if self.exhibit.plot is None:
            return None
        exhibit = self.exhibit
        return draw(self.exhibit.plot, self.made.table, exhibit.title, self.published, exhibit.names)

    @property
    def models(self) -> list[str]:
        """A line for each model: its path, version, step, seed, seconds."""
        return [_model_line(model) for model in self.made.models]

    @property
    def notes(self) -> list[str]:
        """The table's own note, and one where models of a kind stopped at different steps, as a budget makes them."""
        notes = [self.made.table.note] if self.made.table.note else []
        steps: dict[str, list[int]] = {}
        for model in self.made.models:
            if model["step"]:
                steps.setdefault(Path(model["model"]).name, []).append(model["step"])
        for kind, found in steps.items():
            if max(found) > ALIKE_STEPS * min(found):
                notes.append(
                    f"The models of {kind} are of steps {min(found):,} to {max(found):,}: their rows also differ by "
                    "how long they were trained."
                )
        return notes


@dataclass(frozen=True)
class Contents:
    """What the page says.

    Attributes:
        plan: of the paper.
        setup: with what it was reproduced.
        made: the exhibits that there are, in the paper's order.
        missing: title of an exhibit that was asked for and is not there -> why.
        impossible: what cannot be made -> why.
        seeds: of several trials, whose means are shown; empty: it is one seed, the setup's.
        trials: id of an exhibit -> its table in each of several trials.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> plan = Plan("citeomatic", "Bhagavatula et al. 2018.", (), (), {})
        >>> Contents(plan, Setup(starter_corpus(), Path("to"), "toy"), [], {}, {"Table 5": "No."}).json()["impossible"]
        {'Table 5': 'No.'}
    """

    plan: Plan
    setup: Setup
    made: Sequence[MadeExhibit]
    missing: Mapping[str, str]
    impossible: Mapping[str, str]
    seeds: tuple[int, ...] = ()
    trials: Mapping[str, Trials] = field(default_factory=dict)

    @cached_property
    def shown(self) -> list[Shown]:
        """The exhibits with the paper's numbers."""
        numbers = published_numbers(self.plan.paper)
        exhibits = {exhibit.id: exhibit for exhibit in self.plan.exhibits}
        return [
            Shown(exhibits[made.id], made, [number for number in numbers if number.table == made.id])
            for made in self.made
        ]

    @property
    def facts(self) -> dict[str, Any]:
        """What all exhibits share."""
        corpus = self.setup.corpus
        return {
            "corpus": str(corpus.path),
            "corpus version": corpus.version,
            "papers": f"{len(corpus):,}",
            "size": self.setup.size,
            **({"seeds": ", ".join(map(str, self.seeds))} if self.seeds else {"seed": self.setup.seed}),
            **({"encoder": ", ".join(self.setup.encoders)} if self.setup.encoders else {}),
            **({"settings": ", ".join(self.setup.settings)} if self.setup.settings else {}),
        }

    def json(self) -> dict[str, Any]:
        """As one document of JSON; numbers of the paper are as printed, with their units."""
        exhibits = [
            {
                "id": shown.exhibit.id,
                "title": shown.exhibit.title,
                "columns": shown.made.table.columns,
                "rows": shown.made.table.records(),
                "note": " ".join(shown.notes),
                "command": shown.exhibit.command,
                "seconds": round(shown.made.seconds, 3),
                "models": [dict(model) for model in shown.made.models],
                "published": [asdict(number) for number in shown.published],
                **self._trials_json(shown.exhibit.id),
            }
            for shown in self.shown
        ]
        named = {"paper": self.plan.paper, "citation": self.plan.citation, **self.facts}
        return {
            **named,
            "exhibits": exhibits,
            "missing": dict(self.missing),
            "impossible": dict(self.impossible),
        }

    def _trials_json(self, id_: str) -> dict[str, Any]:
        """Deviations of an exhibit's numbers, and the rows of each trial; empty for one seed."""
        if id_ not in self.trials:
            return {}
        trials = self.trials[id_]
        rows = [{"seed": seed, "rows": made.table.records()} for seed, made in trials.made.items()]
        return {"deviations": trials.deviations.records(), "trials": rows}

    def markdown(self) -> str:
        """As one document of Markdown."""
        lines = [f"# {self.plan.paper}: {self.setup.size}", "", self.plan.citation, ""]
        lines += [f"- {name}: {value}" for name, value in self.facts.items()]
        for shown in self.shown:
            lines += ["", f"## {shown.exhibit.title}", "", shown.grid.markdown()]
            for note in shown.notes:
                lines += ["", note]
            lines += ["", "```", shown.exhibit.command, "```", "", f"Measured in {shown.made.seconds:.1f} s."]
            lines += ["", *(f"- {line}" for line in shown.models)] if shown.models else []
        for title, reasons in (("Missing", self.missing), ("What cannot be made", self.impossible)):
            if reasons:
                lines += ["", f"## {title}", "", *(f"- **{what}**: {why}" for what, why in reasons.items())]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """As a self-contained page, which opens without a network."""
        figures = {shown.exhibit.id: shown.figure for shown in self.shown if shown.figure}
        return render_page("cocite_jobs.reproduction", figures, contents=self)


def write_pages(contents: Contents, folder: Path) -> None:
    """Write ``index.html``, ``report.md`` and ``report.json``; a file that says the same already is left alone."""
    texts = {
        "index.html": contents.html(),
        "report.md": contents.markdown(),
        "report.json": json.dumps(contents.json(), indent=1, ensure_ascii=False) + "\n",
    }
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_atomic(path, text)


def _model_line(model: Mapping[str, Any]) -> str:
    facts = [f"version {model['version']}"]
    facts += [f"{name} {model[name]}" for name in ("step", "seed") if model[name] is not None]
    if (share := model.get("hierarchy")) is not None:
        facts.append(
            f"layers add {share['manuscripts']:.2f} to manuscripts and {share['papers']:.2f} to papers"
        )
    if model["seconds"] is not None:
        facts.append(f"trained in {model['seconds']:.0f} s")
    return f"{model['model']} ({', '.join(facts)})"
