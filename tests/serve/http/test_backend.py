"""Whatever has the papers and the stages serves as the API's backend."""

from __future__ import annotations

import asyncio

from helpers.api_backend import InProcess

from cocite.pipeline.options import Options
from cocite.protocols import Query
from cocite_serve.http.backend import Backend
from cocite_serve.http.deadline import Deadline


def test_stages_in_process_are_a_backend(reader: InProcess) -> None:
    served: Backend = reader
    query, deadline = Query("q", title="Parsing"), Deadline.after(20, partial=False)
    answer = asyncio.run(served.recommend(query, Options(top_k=3), deadline))
    assert [paper.id for paper in answer.recommendations] == [
        paper.id for paper in reader.recommender.recommend(query, Options(top_k=3))
    ]
    assert asyncio.run(served.facts()).cross_encoder is not None
