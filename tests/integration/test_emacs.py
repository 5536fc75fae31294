"""Emacs' eglot, set up as the guide says, against `cocite language-server`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.sources import ROOT

from cocite.corpus.starter import build_starter
from cocite.retrieval.index.snapshot import IndexSnapshot

SENTENCE = "The quality of translations is measured by BLEU~\\cite{"
SCRIPT = """
(package-initialize)
(load (getenv "COCITE_SETUP") nil t)
(setq eglot-connect-timeout 600
      eglot-confirm-server-initiated-edits nil
      eglot-confirm-server-edits nil)
(with-current-buffer (find-file-noselect "refs.bib")
  (insert "% not saved yet\\n"))
(find-file "draft.tex")
(call-interactively #'eglot)
(goto-char (point-max))
(let ((listed nil) (until (time-add nil 600)))
  ;; a request is given up while the index is loaded
  (while (and (null listed) (time-less-p nil until))
    (setq listed (ignore-errors (all-completions "" (nth 2 (eglot-completion-at-point)))))
    (sleep-for 0.1))
  (insert "papineni")
  (completion-at-point)
  (with-current-buffer "refs.bib"
    (while (and (not (string-match-p "papineni2002bleu" (buffer-string))) (time-less-p nil until))
      (accept-process-output nil 0.1)))
  (with-temp-file (getenv "COCITE_OUT")
    (insert (json-encode (vconcat (mapcar #'substring-no-properties listed))))))
(save-some-buffers t)
(eglot-shutdown (eglot-current-server))
"""
HAS_EGLOT = "(progn (package-initialize) (require 'eglot))"


def has_eglot() -> bool:
    """Whether there is an Emacs with eglot."""
    emacs = shutil.which("emacs")
    command = [str(emacs), "--batch", "-q", "--eval", HAS_EGLOT]
    return emacs is not None and subprocess.run(command, capture_output=True).returncode == 0


pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not has_eglot(), reason="Emacs (emacs) with eglot is not installed"),
]


def documented(program: Path, index: Path) -> str:
    """The guide's lines for ``init.el``, with this machine's paths."""
    guide = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    [lisp] = re.findall(r"^```lisp\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    return lisp.replace("/path/to/.venv/bin/cocite", str(program)).replace("/path/to/index", str(index))


def test_emacs_completes_a_citation_and_adds_its_entry(tmp_path: Path) -> None:
    IndexSnapshot.create(build_starter(tmp_path / "corpus"), tmp_path / "index")
    work, program = tmp_path / "work", tmp_path / "cocite"
    work.mkdir()
    (work / "draft.tex").write_text(f"\\documentclass{{article}}\n\\bibliography{{refs}}\n\n{SENTENCE}")
    (work / "refs.bib").write_text("@misc{own, title={A paper of our own}}\n")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cocite "$@"\n')
    program.chmod(0o755)
    (tmp_path / "setup.el").write_text(documented(program, tmp_path / "index"))
    (tmp_path / "drive.el").write_text(SCRIPT)
    run = subprocess.run(
        ["emacs", "--batch", "-q", "-l", str(tmp_path / "drive.el")],
        cwd=work,
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "COCITE_SETUP": str(tmp_path / "setup.el"),
            "COCITE_OUT": str(tmp_path / "out.json"),
        },
        capture_output=True,
        text=True,
        timeout=1800,
        stdin=subprocess.DEVNULL,
    )
    assert run.returncode == 0, run.stderr
    listed = json.loads((tmp_path / "out.json").read_text())
    assert listed[0] == "papineni2002bleu"
    assert len(listed) == 20
    assert (work / "draft.tex").read_text().rstrip().endswith(f"{SENTENCE}papineni2002bleu")
    entries = (work / "refs.bib").read_text()
    assert entries.startswith("% not saved yet\n@misc{own, title={A paper of our own}}\n")
    assert entries.count("{papineni2002bleu,") == 1
    assert entries.rstrip().endswith("}")
