"""Settings of a neural model's training: the numbers of the loop, and the workers that share it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from cocite.bounds import (
    BatchSize,
    Cores,
    Epochs,
    GradientNorm,
    Interval,
    LearningRate,
    Location,
    Minutes,
    Name,
    Penalty,
    PositiveCores,
    PositiveShare,
    PositiveSmallCount,
    ProperShare,
    Seconds,
    Seed,
    Share,
    SmallCount,
    Total,
)
from cocite.config import Settings


class ScheduleSettings(Settings):
    """The learning rate over the optimizer steps.

    Example:
        >>> ScheduleSettings(shape="cosine", warmup=100, final=0.1).plateau
        1.0
    """

    shape: Literal["constant", "linear", "cosine", "inverse-square-root"] = "linear"
    """After the warm-up: stays; falls on a line to ``final``; on half a cosine to ``final``; or as 1 / sqrt(step)."""
    warmup: Interval | ProperShare = 0.1
    """Steps of linear rise: a number of steps, or (below 1) a share of all steps."""
    start: ProperShare = 0.0
    """Where the rise begins, as a share of the peak."""
    final: Share = 0.0
    """Where ``linear`` and ``cosine`` end, as a share of the peak."""
    plateau: PositiveShare = 1.0
    """The rate is multiplied by this after each evaluation whose dev metric is no better than the best before it."""


class OptimizerSettings(Settings):
    """The optimizer and its numbers.

    Example:
        >>> OptimizerSettings.parse({"learning_rate": 0})
        Traceback (most recent call last):
        cocite.errors.ConfigError: learning_rate: input should be greater than 0, got 0
    """

    name: Literal["adamw", "nadam"] = "adamw"
    """``adamw``: AdamW; where a model's tables have sparse gradients, Adam on the rows that a step's batch used
    (LazyAdam). ``nadam``: Adam with Nesterov's momentum on all rows, as Keras has it, with AdamW's weight decay."""
    learning_rate: LearningRate = 1e-4
    betas: tuple[ProperShare, ProperShare] = (0.9, 0.999)
    epsilon: PositiveShare = 1e-8
    weight_decay: Penalty = 0.01
    """Decoupled; biases, one-dimensional weights (norms) and tables with sparse gradients are exempt."""
    clip: GradientNorm = 1.0
    """Largest norm of the whole gradient; 0: never clipped."""


class WorkerSettings(Settings):
    """The workers that train.

    Example:
        >>> WorkerSettings.parse({"count": [2, 8], "gpus": 1}).count
        (2, 8)
    """

    count: SmallCount | tuple[PositiveSmallCount, PositiveSmallCount] = 1
    """Workers under Ray Train; a pair is the range of an elastic run."""
    gpus: Cores | None = None
    """GPUs of each worker. 0: it trains on CPUs, also where there are GPUs. None: 1 where the cluster has GPUs or an
    ``accelerator`` is named, else 0; without Ray, the GPU of the process where there is one."""
    cpus: PositiveCores = 1
    """Logical CPUs of each worker; also its torch threads where it has no GPU."""
    accelerator: Name | None = None
    """Ray's name of the type of GPU that a worker runs on, such as H100; any type by default."""
    storage: Location | None = None
    """Where checkpoints are kept: a folder that all nodes see, or a URI such as ``s3://bucket/prefix``."""
    retries: int = Field(3, ge=-1, le=1_000_000)
    """How often a run is taken up again after a worker died; -1: always."""
    timeout: Seconds = 600
    """Seconds that workers wait for one another, and for their resources, before the run fails."""
    start_timeout: Seconds = 60
    """Seconds after which workers that did not get their resources are placed anew: an elastic run that lost a node
    goes on with fewer. With ``retries: -1`` it is tried for ever, else until ``timeout`` is over."""

    @model_validator(mode="after")
    def _ordered(self) -> WorkerSettings:
        if isinstance(self.count, tuple) and self.count[0] > self.count[1]:
            raise ValueError(f"count: the range {list(self.count)} is upside down")
        return self


class TrainingSettings(Settings):
    """One training of a neural model.

    Example:
        >>> TrainingSettings.parse({"batch": 256, "schedule": {"warmup": 0.05}}).optimizer.learning_rate
        0.0001
        >>> TrainingSettings.parse({"offload": True})
        Traceback (most recent call last):
        cocite.errors.ConfigError: offload needs backend: deepspeed
    """

    epochs: Epochs = 1
    """Passes over the examples."""
    steps: Total | None = None
    """Optimizer steps after which training ends, whatever ``epochs`` says; the schedule's length too."""
    minutes: Minutes | None = None
    """No further step begins after so many minutes; the schedule is not shortened."""
    batch: BatchSize = 64
    """Examples of an optimizer step, over all workers."""
    tokens: Total = 8192
    """Tokens of one forward pass on one worker: a step whose share is larger is split and accumulated."""
    sort_within: Total = 64
    """Examples are drawn at random, then sorted by length within so many steps, whose order is drawn again."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """Of products; a CPU without instructions for bf16 computes in fp32 unless ``COCITE_PRECISION`` says otherwise."""
    tf32: bool = False
    """On a GPU, round what enters an fp32 matrix product to TF32: ten bits of mantissa, several times the speed."""
    backend: Literal["plain", "ddp", "deepspeed"] = "plain"
    zero: Literal[0, 1, 2, 3] = 2
    """DeepSpeed's ZeRO stage."""
    offload: bool = False
    """DeepSpeed: optimizer state (and parameters, ZeRO 3) in the memory of the host."""
    gradient_checkpointing: bool = False
    compile: bool = False
    optimizer: OptimizerSettings = OptimizerSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    evaluate_every: Interval = 0
    """Steps between two looks at the dev metric; 0: at the end of each epoch."""
    checkpoint_every: Interval = 0
    """Steps between two checkpoints; 0: after each evaluation."""
    checkpoint_minutes: Minutes | None = None
    """Minutes after a checkpoint at which another is made, whatever the step; None: steps alone decide."""
    refresh_every: Interval = 0
    """Steps after which the task mines anew with the present weights (N_iter); 0: as ``refresh_epochs`` says."""
    refresh_epochs: PositiveSmallCount = 1
    """Epochs after which the task mines anew, at their start; 1, at each, is what Citeomatic and HAtten do."""
    keep: PositiveSmallCount = 2
    """Checkpoints kept: the best by the dev metric, and always the last."""
    patience: Interval = 0
    """Stop after so many evaluations without a better dev metric; 0: never."""
    loader_threads: int = Field(1, ge=0, le=1024)
    """Threads that prepare batches ahead; 0: none. The batches are the same."""
    log_every: Total = 10
    """Steps between two logged losses."""
    seed: Seed = 0

    @model_validator(mode="after")
    def _possible(self) -> TrainingSettings:
        if self.offload and self.backend != "deepspeed":
            raise ValueError("offload needs backend: deepspeed")
        if self.backend == "deepspeed" and self.optimizer.name != "adamw":
            raise ValueError(f"optimizer.name: {self.optimizer.name} is not for backend: deepspeed")
        if self.offload and self.zero == 0:
            raise ValueError("offload needs zero: 1, 2 or 3")
        return self
