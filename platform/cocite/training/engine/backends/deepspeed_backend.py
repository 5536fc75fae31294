"""DeepSpeed ZeRO, stages 0 to 3."""

from __future__ import annotations

import copy
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from cocite.errors import ConfigError
from cocite.training.engine.backends.base import (
    MOMENTS,
    Slots,
    Work,
    autocast,
    buffers_of,
    left_out,
    prepare,
    touching,
)
from cocite.training.engine.backends.torch_backend import Running
from cocite.training.engine.eager_optimizers import AdamW
from cocite.training.engine.optimizers import make_optimizers
from cocite.training.engine.settings import TrainingSettings
from cocite.training.engine.world import World, start_group

_BUCKET = 50_000_000
"""Elements that are exchanged at once."""


class DeepSpeedBackend:
    """ZeRO 0-3 with torch's AdamW.

    fp32: as in the other backends. bf16: DeepSpeed's ``bf16`` section, weights in bf16 with fp32 master weights in
    the optimizer; forward passes run under autocast besides, so that a loss may mix precisions as in the other
    backends. ZeRO 0 has no master weights: fp32 weights and autocast there, as with DistributedDataParallel.

    DeepSpeed trains a copy and never touches the model it was given: that one takes the gathered weights whenever all
    of them are wanted on each rank, for evaluation and at the end, and waits on the CPU in between.

    Example:
        >>> from cocite.training.engine.backends import make_backend
        >>> settings = TrainingSettings(backend="deepspeed", zero=1)
        >>> make_backend(nn.Linear(2, 2), settings, World(), groups=["a table"])
        Traceback (most recent call last):
        cocite.errors.ConfigError: training.backend: deepspeed steps all weights alike, ...
    """

    def __init__(self, model: nn.Module, settings: TrainingSettings, world: World) -> None:
        deepspeed = _deepspeed()
        self.settings, self.world, self.stage = settings, world, settings.zero
        self.model = model.cpu()
        if world.size > 1:
            _refuse_numbers(model)
        self.unused: set[int] | None = None
        if not dist.is_initialized():
            # DeepSpeed wants a group even of one process, and remembers it ever after: it is not taken down again.
            store = dist.HashStore()  # type: ignore[attr-defined]
            start_group(world.device, store=store, rank=0, world_size=1)
        # DeepSpeed reads its device from there, and torchrun is not the only one to start processes.
        os.environ.setdefault("LOCAL_RANK", str(world.device.index or 0))
        # DeepSpeed cuts and casts the weights of its model in place; the caller's model stays whole, in fp32.
        running = Running(prepare(copy.deepcopy(model).to(world.device), settings)).train()
        if settings.precision == "bf16" and self.stage and world.device.type == "cpu":
            for module in running.modules():
                if isinstance(module, nn.LayerNorm):
                    module.register_forward_pre_hook(_in_own_precision)
        # Some of its optimizers print how much memory they take.
        with redirect_stdout(StringIO()), _no_compiled_muon(deepspeed):
            [optimizer] = make_optimizers(running, settings.optimizer)
            self.engine = deepspeed.initialize(
                model=running, optimizer=optimizer, config=self._config(running)
            )[0]
        self.inner: nn.Module = self.engine.module.model
        masters = dict(model.named_parameters())
        self._make_state(0)
        # DeepSpeed made its fp32 weights of those that it had rounded to bf16.
        self._put(lambda name: {"weight": masters[name]})

    def _config(self, model: nn.Module) -> dict[str, Any]:
        bucket = min(_BUCKET, 2 * sum(parameter.numel() for parameter in model.parameters()))  # must be even
        zero: dict[str, Any] = {
            "stage": self.stage,
            "reduce_bucket_size": bucket,
            "allgather_bucket_size": bucket,
        }
        if self.stage == 3:
            zero |= {"stage3_prefetch_bucket_size": bucket, "stage3_max_live_parameters": 2 * _BUCKET}
        if self.settings.offload:
            host = {"device": "cpu", "pin_memory": self.world.device.type == "cuda"}
            zero["offload_optimizer"] = host
            if self.stage == 3:
                zero["offload_param"] = host
        return {
            "train_micro_batch_size_per_gpu": 1,  # only a number to DeepSpeed: the loop decides what a pass holds
            "gradient_clipping": self.settings.optimizer.clip if self.stage else 0.0,
            "zero_optimization": zero,
            "zero_allow_untested_optimizer": True,
            "zero_force_ds_cpu_optimizer": False,
            "bf16": {"enabled": self.settings.precision == "bf16" and self.stage > 0},
            "data_types": {"grad_accum_dtype": "fp32"},
        }

    def forward(self, work: Work) -> Tensor:
        """See :class:`Backend`."""
        with torch.no_grad():
            return self._run(self.engine.module, work)

    def backward(self, work: Work, *, last: bool) -> Tensor:
        """See :class:`Backend`."""
        self.engine.set_gradient_accumulation_boundary(last)
        loss = self._run(self.engine, self._touching(work))
        self.engine.backward(loss, scale_wrt_gas=False)
        return loss.detach()

    def _touching(self, work: Work) -> Work:
        """A work that gives all ranks gradients of the same parameters.

        ZeRO 2 and 3 exchange gradients in the order in which they are computed, so there it is only made sure that
        each pass uses the same parameters: with others the exchange would mix them up, and say nothing.
        """

        def checked(model: nn.Module) -> Tensor:
            loss = work(model)
            if self.stage < 2:
                return touching(loss, model.parameters())
            unused = {id(parameter) for parameter in left_out(loss, model.parameters())}
            if self.unused is None:
                self.unused = unused
            if unused != self.unused:
                raise ConfigError(
                    f"the loss of one batch uses other weights than that of another, and ZeRO {self.stage} needs "
                    "the same in all",
                    where="training.zero",
                    hint="set it to 1",
                )
            return loss

        return checked

    def _run(self, module: nn.Module, work: Work) -> Tensor:
        # Within the engine's forward pass: it switches off an autocast that surrounds it.
        def cast(model: nn.Module) -> Tensor:
            with autocast(self.settings, self.world.device):
                return work(model)

        result: Tensor = module(cast)
        return result

    def step(self, rate: float) -> float:
        """See :class:`Backend`."""
        for group in self.engine.basic_optimizer.param_groups:
            group["lr"] = rate
        norm: float | None = None
        if self.stage == 0:  # DeepSpeed clips there, but does not say from what
            trained = [parameter for parameter in self.inner.parameters() if parameter.requires_grad]
            norm = float(nn.utils.clip_grad_norm_(trained, self.settings.optimizer.clip or torch.inf))
        self.engine.step()
        if norm is None:
            found = self.engine.get_global_grad_norm()
            norm = torch.nan if found is None or found < 0 else float(found)
        return torch.inf if getattr(self.engine.optimizer, "overflow", False) else norm

    @contextmanager
    def whole(self) -> Iterator[nn.Module]:
        """See :class:`Backend`."""
        # Under ZeRO 3 no rank has the whole weights: they are gathered one by one into the model that was given.
        own = dict(self.model.named_parameters())
        with torch.no_grad():
            for name, slots in self.slots(moments=False):
                own[name].copy_(slots["weight"])
            for (_, mine), (_, theirs) in zip(buffers_of(self.model), self.buffers(), strict=True):
                mine.copy_(theirs)
            self.model.to(self.world.device).eval()
            try:
                with autocast(self.settings, self.world.device):
                    yield self.model
            finally:
                self.model.cpu()

    def slots(self, *, moments: bool) -> Iterator[tuple[str, Slots]]:
        """See :class:`Backend`."""
        utils, state = _deepspeed().utils, self.engine.basic_optimizer.state
        for name, parameter in self.inner.named_parameters():
            if self.stage == 0 or not parameter.requires_grad:
                entry = {"weight": self._gathered(parameter)}
                if moments and parameter.requires_grad:
                    entry |= {key: state[parameter][key] for key in MOMENTS}
            else:
                entry = {"weight": utils.safe_get_full_fp32_param(parameter)}
                if moments:
                    entry |= {key: utils.safe_get_full_optimizer_state(parameter, key) for key in MOMENTS}
            yield name, entry

    def _gathered(self, parameter: nn.Parameter) -> Tensor:
        """A weight without a master copy."""
        if self.stage < 3:
            return parameter.detach()
        with _deepspeed().zero.GatheredParameters([parameter]):
            return parameter.detach().clone()

    def buffers(self) -> Iterator[tuple[str, Tensor]]:
        """See :class:`Backend`."""
        return buffers_of(self.inner)

    def restore(self, read: Callable[[str], Slots], step: int) -> None:
        """See :class:`Backend`. The weights were in the model that this was made with already, but not in fp32."""
        self._make_state(step)
        self._put(read)

    def _make_state(self, step: int) -> None:
        """Make AdamW's state, whose moments are 0.

        ZeRO steps flat pieces of the parameters, and AdamW would make their state in its first step; ZeRO 1 and 2
        would then miss that of all parameter groups but the first, so that it could not be read by parameter.
        """
        optimizer, state = self.engine.optimizer, self.engine.basic_optimizer.state
        for flat in self._flat():
            state[flat] = {"step": torch.tensor(float(step), device=flat.device)}
            state[flat] |= {key: torch.zeros_like(flat, requires_grad=False) for key in MOMENTS}
        if self.stage in (1, 2):
            optimizer._hp_optimizer_states_linked = False
            optimizer._lazy_init_hp_params_optimizer_state()

    def _flat(self) -> list[Tensor]:
        """The tensors that AdamW steps on this rank."""
        if self.stage == 0:
            return [parameter for parameter in self.inner.parameters() if parameter.requires_grad]
        optimizer = self.engine.optimizer
        names = (
            "fp32_partitioned_groups_flat",
            "single_partition_of_fp32_groups",
            "fp32_groups_flat_partition",
        )
        flat: list[Tensor] = next(getattr(optimizer, name) for name in names if hasattr(optimizer, name))
        return flat

    def _put(self, read: Callable[[str], Slots]) -> None:
        """Set the optimizer's fp32 weights, and the moments that are given."""
        utils, state = _deepspeed().utils, self.engine.basic_optimizer.state
        for name, parameter in self.inner.named_parameters():
            if not parameter.requires_grad:
                continue
            for key, whole in read(name).items():
                value = whole.detach().to(self.world.device, torch.float32)
                if self.stage == 0:
                    target = parameter.data if key == "weight" else state[parameter][key]
                    target.copy_(value)
                elif self.stage < 3:
                    if key == "weight":
                        utils.safe_set_full_fp32_param(parameter, value)
                    else:
                        utils.safe_set_full_optimizer_state(parameter, value, key)
                else:
                    mine = self._part(parameter, value)
                    if key == "weight":
                        utils.safe_set_local_fp32_param(parameter, mine)
                    else:
                        utils.safe_set_local_optimizer_state(parameter, mine, key)

    def _part(self, parameter: Any, value: Tensor) -> Tensor:
        """This rank's part of a value under ZeRO 3, which fills the last rank's up with zeros."""
        size = parameter.ds_tensor.numel()
        start = size * self.world.rank
        part = value.flatten()[start : start + size]
        return nn.functional.pad(part, (0, size - len(part)))

    def close(self) -> None:
        """See :class:`Backend`."""
        self.engine.destroy()
        self.model.to(self.world.device).eval()


def _in_own_precision(module: nn.LayerNorm, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """A norm's input in the precision of its weights; autocast sees to that on a GPU, but not on a CPU."""
    return (inputs[0].to(module.weight.dtype), *inputs[1:])


def _refuse_numbers(model: nn.Module) -> None:
    """DeepSpeed cannot send a weight that has no dimension to the other processes."""
    name = next((name for name, weight in model.named_parameters() if not weight.dim()), None)
    if name is not None:
        raise ConfigError(
            f"the weight {name!r} has no dimension, and DeepSpeed cannot exchange it",
            where="training.backend",
            hint="give it the shape (1,), or train with backend: ddp",
        )


def _deepspeed() -> Any:
    """Import DeepSpeed quietly, and without compiling its shared-memory exchange for CPUs (which needs g++).

    Its autotuner, which is imported with it, imports MLflow where that is installed: seconds in each process of a
    training, for nothing that is used here.
    """
    if not torch.cuda.is_available():
        os.environ.setdefault("DS_ACCELERATOR", "cpu")  # else it warns that it found no other
    try:
        with _without("mlflow"):
            import deepspeed
    except ImportError as error:
        raise ConfigError(
            "DeepSpeed is not installed",
            where="training.backend",
            hint="pip install deepspeed, or set it to ddp",
        ) from error
    # It calls what newer versions of torch have renamed, and each call would say so.
    warnings.filterwarnings("ignore", message=".*torch.distributed.* is deprecated", category=FutureWarning)
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    known = deepspeed.runtime.zero.utils.ZERO_SUPPORTED_OPTIMIZERS
    if AdamW not in known:
        known.append(AdamW)  # else it warns of an optimizer that it was not tested with
    return deepspeed


@contextmanager
def _without(module: str) -> Iterator[None]:
    """Let imports of a module fail in the block, as where it is not installed; one that is imported already stays."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]


@contextmanager
def _no_compiled_muon(deepspeed: Any) -> Iterator[None]:
    """Let DeepSpeed import Muon, as it does to recognise it, without wrapping its functions for torch's compiler.

    Importing the compiler takes a second in each process of a training, and nothing here steps by Muon.
    """
    compiler = deepspeed.runtime.compiler
    compile_ = compiler.compile
    compiler.compile = lambda: lambda function: function
    try:
        yield
    finally:
        compiler.compile = compile_
