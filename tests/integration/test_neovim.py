"""Neovim's own client of the Language Server Protocol against `cocite language-server`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cocite.corpus.starter import build_starter
from cocite.retrieval.index.snapshot import IndexSnapshot

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim (nvim) is not installed"),
]
SENTENCE = "The quality of translations is measured by BLEU~\\cite{"
SCRIPT = """
local index, python, out = vim.env.COCITE_INDEX, vim.env.COCITE_PYTHON, vim.env.COCITE_OUT
local said, loaded = {}, false
local id = vim.lsp.start_client({
  name = 'cocite',
  cmd = { python, '-m', 'cocite', 'language-server', '--index', index },
  root_dir = vim.fn.getcwd(),
  handlers = {
    ['window/showMessage'] = function(_, params) table.insert(said, params.message) end,
    ['$/progress'] = function(_, params) loaded = loaded or params.value.kind == 'end' end,
  },
})
vim.cmd('edit refs.bib')
vim.api.nvim_buf_set_lines(0, 0, 0, false, { '% not saved yet' })
vim.o.hidden = true
vim.cmd('edit draft.tex')
vim.bo.filetype = 'tex'
vim.lsp.buf_attach_client(0, id)
assert(vim.wait(600000, function() return loaded end, 20))
vim.api.nvim_buf_set_lines(0, -2, -1, false, { vim.fn.getline('$') .. 'pap' })
vim.cmd('normal! G$')
local line = vim.fn.getline('.')
local place = { line = vim.fn.line('.') - 1, character = #line }
local params = { textDocument = { uri = vim.uri_from_bufnr(0) }, position = place }
local answer = vim.lsp.buf_request_sync(0, 'textDocument/completion', params, 120000)[id].result
local item = answer.items[1]
vim.lsp.util.apply_text_edits({ item.textEdit }, 0, 'utf-16')
vim.lsp.buf_request_sync(0, 'workspace/executeCommand', item.command, 120000)
params.position.character = #line
local hover = vim.lsp.buf_request_sync(0, 'textDocument/hover', params, 120000)[id].result
vim.cmd('wall')
local result = vim.fn.json_encode({ shown = item.label, hover = hover.contents.value, said = said })
vim.fn.writefile({ result }, out)
vim.lsp.stop_client(id)
vim.wait(60000, function() return vim.lsp.get_client_by_id(id) == nil end, 20)
vim.cmd('qall!')
"""


def test_neovim_completes_a_citation_and_adds_its_entry(tmp_path: Path) -> None:
    IndexSnapshot.create(build_starter(tmp_path / "corpus"), tmp_path / "index")
    work = tmp_path / "work"
    work.mkdir()
    (work / "draft.tex").write_text(f"\\bibliography{{refs}}\n\n{SENTENCE}")
    (work / "refs.bib").write_text("@misc{own, title={A paper of our own}}\n")
    (tmp_path / "drive.lua").write_text(SCRIPT)
    run = subprocess.run(
        ["nvim", "--headless", "--clean", "-n", "-c", f"luafile {tmp_path / 'drive.lua'}", "-c", "cquit"],
        cwd=work,
        env={
            **os.environ,
            "COCITE_INDEX": str(tmp_path / "index"),
            "COCITE_PYTHON": sys.executable,
            "COCITE_OUT": str(tmp_path / "out.json"),
            "XDG_STATE_HOME": str(tmp_path),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
        },
        capture_output=True,
        text=True,
        timeout=1800,
        stdin=subprocess.DEVNULL,
    )
    assert (tmp_path / "out.json").is_file(), run.stderr
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["shown"] == "papineni2002bleu"
    assert result["hover"].endswith("The corpus holds this paper, as papineni2002bleu.")
    assert result["said"] == []
    assert (work / "draft.tex").read_text() == f"\\bibliography{{refs}}\n\n{SENTENCE}papineni2002bleu\n"
    entries = (work / "refs.bib").read_text()
    assert entries.startswith("% not saved yet\n@misc{own, title={A paper of our own}}\n")
    assert entries.count("{papineni2002bleu,") == 1
    assert entries.rstrip().endswith("}")
