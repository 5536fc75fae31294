"""The Ray Serve deployments: a gateway, a retriever, a reranker.

Each of the two stages holds one stage object of the library and adds only what serving needs: one computing thread,
a bound on what may wait, and a check that both serve the same model and index. A request makes one call to each, and
what passes between them are the library's arrays.

No ``from __future__ import annotations`` here: FastAPI reads the gateway.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import FastAPI
from ray import serve
from ray.exceptions import RayError
from ray.serve.config import BackpressureConfig
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError, RayServeException
from ray.serve.handle import DeploymentHandle

from cocite.errors import CociteError, IntegrityError
from cocite.pipeline import Candidates, FirstStage, Options, Recommendation, SecondStage
from cocite.protocols import Query
from cocite_serve.api import Answer, build_app
from cocite_serve.papers import Papers
from cocite_serve.problems import NotReadyError, OverloadedError
from cocite_serve.settings import ServeSettings, Stage

T = TypeVar("T")
APP = "cocite"
