from __future__ import annotations

import os
import subprocess
import sys

from cocite.nn.variables import KERNEL_CACHES, PRECISION


def test_the_names_are_had_without_pytorch() -> None:
    code = "import sys, cocite.nn.variables; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_process_that_has_them_computes_in_the_precision_that_is_named() -> None:
    code = "from cocite.nn.precision import inference_dtype; print(inference_dtype())"
    environment = os.environ | KERNEL_CACHES | {PRECISION: "bfloat16"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == "torch.bfloat16\n"
