"""Whether the description of an endpoint that asks for keys says so, and where."""

from __future__ import annotations

from pathlib import Path

from helpers.api_backend import InProcess, client

from cocite_serve.http.key_schemes import SCHEMES
from cocite_serve.http.keys import OPEN
from cocite_serve.key_file import new_key

ASKS = [{"bearer": []}, {"header": []}]


def test_every_path_but_the_open_ones_says_that_it_asks_for_a_key(backend: InProcess, tmp_path: Path) -> None:
    key = new_key(tmp_path / "keys", "web")
    http = client(backend, keys={"file": tmp_path / "keys"})
    document = http.get("/openapi.json").json()
    assert document["components"]["securitySchemes"] == SCHEMES
    asking = {path for path, operations in document["paths"].items() if "'security'" in str(operations)}
    assert asking == document["paths"].keys() - OPEN
    assert document["paths"]["/v1/keys"]["get"]["security"] == ASKS
    header = SCHEMES["header"]["name"]
    assert http.get("/v1/version", headers={header: key}).status_code == 200


def test_without_keys_nothing_is_said_of_them(backend: InProcess) -> None:
    document = client(backend).get("/openapi.json").json()
    assert "securitySchemes" not in document["components"]
    assert "'security'" not in str(document["paths"])
