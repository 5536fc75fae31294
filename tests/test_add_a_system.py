"""The code of docs/add-a-system.md runs as it stands: it trains, indexes and ranks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = "docs/add-a-system.md"


def test_the_code_of_the_page_runs(root: Path, tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (root / PAGE).read_text(encoding="utf-8"), re.M | re.S)
    names = []
    for block in blocks:
        name = block.splitlines()[0].removeprefix("# ")
        assert re.fullmatch(r"[\w/]+\.py", name), f"a block of {PAGE} begins without its file's name"
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(block, encoding="utf-8")
        names.append(name)
    modules = {f"word_mean/{name}.py" for name in ("__init__", "encoder", "network", "recipe", "task")}
    assert set(names) == {*modules, "run.py"}
    done = subprocess.run(
        [sys.executable, "run.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    metric, *papers = done.stdout.splitlines()
    assert float(metric.removeprefix("dev MRR ")) > 0.2
    assert [line.partition(":")[0] for line in papers] == ["nearest"] * 3 + ["recommended"] * 3
