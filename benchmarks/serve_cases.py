"""Whether an endpoint's answers are those of its OpenAPI document: what schemathesis generates, with all its checks.

    .venv/bin/python -m benchmarks.serve_cases [--max-examples 700] [--on process] [--json FILE]

Without --index or --url, the endpoint serves a model of two small networks with random weights over the starter corpus,
so that every path answers, and soon. Prints how many requests were sent, the statuses of their answers, how many of
them were 5xx, and how many failed each check; 504 is documented, for a request may name a deadline of a millisecond.
Ends with 1 where a check failed, or where fewer cases were generated than --cases asks for.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks._endpoint import endpoint
from benchmarks._measured_process import provenance
from benchmarks._small_model import small_model
from cocite.cli.console import print_table

CONFIG = Path(__file__).resolve().parents[1] / "schemathesis.toml"
PHASES = "examples,coverage,fuzzing,stateful"
NO_ANSWER = "none"
DOCUMENT_CHECKS = (
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
"""Those that an answer fails which the document does not have."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--index", type=Path, help="index folder; by default a small model and index are made"
    )
    parser.add_argument("--model", type=Path, help="model folder, with --index")
    parser.add_argument("--url", help="ask a running endpoint instead of starting one")
    parser.add_argument("--on", choices=("ray", "process"), default="process", help="as of cocite serve")
    parser.add_argument("--cases", type=int, default=10_000, help="how many there must be at least")
    parser.add_argument("--max-examples", type=int, default=700, help="of each operation in a phase")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, help="file to write the result to")
    options = parser.parse_args()
    result = {
        **provenance("serve_cases"),
        "on": options.on if not options.url else options.url,
        "load before": os.getloadavg()[0],
    }
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        url = options.url
        if not url:
            model, index = options.model, options.index
            if index is None:
                model, index = small_model(Path(scratch))
            url, _ = stack.enter_context(endpoint(index, model, "--on", options.on))
        result |= cases(url, Path(scratch), options.max_examples, options.seed)
    result["load after"] = os.getloadavg()[0]
    print(json.dumps(result, indent=1))
    print_table("answers", ["status", "answers"], list(result["answers"].items()))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    if result["checks failed"] or result["exit code"]:
        raise SystemExit("schemathesis failed: its report above says which request, and how to send it again")
    if result["cases"] < options.cases:
        raise SystemExit(f"{result['cases']} cases are fewer than {options.cases}: raise --max-examples")


def cases(url: str, scratch: Path, max_examples: int, seed: int) -> dict[str, Any]:
    """Let schemathesis ask an endpoint, its report on standard output, and count what came back.

    Args:
        url: of the endpoint.
        scratch: a folder for its events.
        max_examples: of each operation in a phase.
        seed: of the generated cases.
    """
    events, report = scratch / "events.ndjson", scratch / "report.json"
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(CONFIG)]
    command += ["run", f"{url}/openapi.json", "--checks", "all", "--phases", PHASES, "--continue-on-failure"]
    command += ["--max-examples", str(max_examples), "--seed", str(seed), "--no-color"]
    command += ["--report", "ndjson,json"]
    command += ["--report-ndjson-path", str(events), "--report-json-path", str(report)]
    begin = time.perf_counter()
    done = subprocess.run(command, cwd=scratch, check=False)
    seconds = time.perf_counter() - begin
    summary = json.loads(report.read_text())
    answers, failed = counted(events)
    return {
        "schemathesis": summary["schemathesis_version"],
        "seed": seed,
        "max examples": max_examples,
        "operations": summary["operations"]["tested"],
        "cases": summary["test_cases"]["generated"],
        "requests": sum(answers.values()),
        "s": round(seconds, 1),
        "answers": dict(sorted(answers.items())),
        "5xx": sum(count for status, count in answers.items() if status.startswith("5")),
        "5xx but 504": sum(
            count for status, count in answers.items() if status.startswith("5") and status != "504"
        ),
        "undocumented answers": sum(failed[check] for check in DOCUMENT_CHECKS),
        "checks failed": dict(sorted(failed.items())),
        "errors": len(summary["errors"]),
        "exit code": done.returncode,
    }


def counted(events: Path) -> tuple[Counter[str], Counter[str]]:
    """How many requests each status answered, and how many answers failed each check.

    Args:
        events: of a run of schemathesis, one JSON document a line.
    """
    answers, failed = Counter[str](), Counter[str]()
    with events.open(encoding="utf-8") as lines:
        for line in lines:
            recorder = json.loads(line).get("ScenarioFinished", {}).get("recorder", {})
            for sent in recorder.get("interactions", {}).values():
                response = sent["response"]
                answers[str(response["status_code"]) if response else NO_ANSWER] += 1
            for checks in recorder.get("checks", {}).values():
                failed.update(check["name"] for check in checks if check["status"] == "failure")
    return answers, failed


if __name__ == "__main__":
    main()
