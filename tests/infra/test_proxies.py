"""The files of the two proxies, run by real Caddy and nginx before a server that tells what reached it."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from helpers.endpoint import free_port
from helpers.sources import ROOT

from cocite_serve.http.problem_body import phrase
from cocite_serve.http.schemas import Problem

PROXY = ROOT / "infra" / "proxy"
USER, PASSWORD = "reader", "a-password"
START_S = 60
FILES_ANSWER_S = 40
"""Seconds that the files give the endpoint to answer."""
ANSWER_S = 2
"""In their place where no answer is to come in time."""
GIVEN_UP = threading.Event()
"""Set when the client has its answer, which the server need no longer keep back."""
OWN = b'{"error": "the endpoint says so itself"}'


class Upstream(http.server.BaseHTTPRequestHandler):
    """Answers with the headers that it was sent; ``/gone`` not at all, ``/slow`` late, ``/refused/429`` by itself."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/gone":
            self.close_connection = True
            return
        if self.path == "/slow":
            GIVEN_UP.wait(START_S)
        if self.path.startswith("/refused/"):
            self.send_response(int(self.path.rpartition("/")[2]))
            self.send_header("Content-Type", "application/problem+json")
            self.send_header("X-Request-ID", self.headers["X-Request-ID"])
            self.send_header("Content-Length", str(len(OWN)))
            self.end_headers()
            self.wfile.write(OWN)
            return
        body = json.dumps({name.lower(): value for name, value in self.headers.items()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def upstream() -> Iterator[int]:
    """The port of a server in the endpoint's place."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@contextmanager
def running(command: list[str], port: int, folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """Run a proxy until the block ends."""
    log = folder / "log"
    with log.open("w") as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, env=os.environ | environment
        )
    try:
        deadline = time.monotonic() + START_S
        while not answers(port):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.wait(START_S)


def answers(port: int) -> bool:
    try:
        ssl.get_server_certificate(("localhost", port), timeout=2)
    except OSError:
        return False
    return True


@contextmanager
def running_caddy(upstream: int, folder: Path, answer_s: int = FILES_ANSWER_S) -> Iterator[tuple[int, int]]:
    """HTTP and HTTPS port of Caddy with infra/proxy/Caddyfile, which makes the certificate itself."""
    binary = str(Path(sys.executable).with_name("caddy"))
    ports = free_port(), free_port()
    hashed = subprocess.run(
        [binary, "hash-password", "--plaintext", PASSWORD], capture_output=True, text=True, check=True
    ).stdout.strip()
    text = (PROXY / "Caddyfile").read_text(encoding="utf-8")
    assert text.count("127.0.0.1:8000") == 2
    changes = {
        "reverse_proxy 127.0.0.1:8000": f"reverse_proxy 127.0.0.1:{upstream}",
        f"response_header_timeout {FILES_ANSWER_S}s": f"response_header_timeout {answer_s}s",
        # This machine's store of trusted certificates stays as it is.
        "\tadmin off\n": "\tadmin off\n\tskip_install_trust\n",
    }
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (folder / "Caddyfile").write_text(text)
    environment = {
        "COCITE_DOMAIN": "localhost",
        "COCITE_USER": USER,
        "COCITE_PASSWORD_HASH": hashed,
        "COCITE_HTTP_PORT": str(ports[0]),
        "COCITE_HTTPS_PORT": str(ports[1]),
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_CONFIG_HOME": str(folder / "config"),
    }
    command = [binary, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    with running(command, ports[1], folder, environment):
        yield ports


@contextmanager
def running_nginx(upstream: int, folder: Path, answer_s: int = FILES_ANSWER_S) -> Iterator[tuple[int, int]]:
    """HTTP and HTTPS port of nginx with infra/proxy/nginx.conf, its paths and ports changed."""
    binary = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    openssl = shutil.which("openssl")
    if binary is None or openssl is None:
        pytest.skip("no nginx or openssl on this machine (Debian: apt-get install nginx-light openssl)")
    ports = free_port(), free_port()
    folder.chmod(0o755)
    subprocess.run(
        [
            *(
                openssl,
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-days",
                "1",
                "-subj",
                "/CN=localhost",
            ),
            *("-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem")),
        ],
        check=True,
        capture_output=True,
    )
    hashed = subprocess.run(
        [openssl, "passwd", "-apr1", PASSWORD], check=True, capture_output=True, text=True
    ).stdout.strip()
    (folder / "cocite.users").write_text(f"{USER}:{hashed}\n")
    text = (PROXY / "nginx.conf").read_text(encoding="utf-8")
    changes: dict[str, str | Callable[[re.Match[str]], str]] = {
        r"127\.0\.0\.1:8000": f"127.0.0.1:{upstream}",
        r"/etc/nginx/tls|/etc/nginx|/var/log/nginx|/run(?=/nginx)": str(folder),
        rf"proxy_read_timeout {FILES_ANSWER_S}s": f"proxy_read_timeout {answer_s}s",
        r"listen \[::\].*": "",
        r"listen 80;": f"listen 127.0.0.1:{ports[0]};",
        r"listen 443 ": f"listen 127.0.0.1:{ports[1]} ",
        r"cocite\.example\.org": "localhost",
    }
    for pattern, new in changes.items():
        text, count = re.subn(pattern, new, text)
        assert count, f"nginx.conf has no {pattern}"
    temporary = "".join(
        f"    {kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    owner = "user root;\n" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(owner + text.replace("http {\n", f"http {{\n{temporary}", 1))
    command = [binary, "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log"), "-g", "daemon off;"]
    with running(command, ports[1], folder, {}):
        yield ports


RUNNING = {"caddy": running_caddy, "nginx": running_nginx}


@pytest.fixture(scope="module")
def caddy(upstream: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    with running_caddy(upstream, tmp_path_factory.mktemp("caddy")) as ports:
        yield ports


@pytest.fixture(scope="module")
def nginx(upstream: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    with running_nginx(upstream, tmp_path_factory.mktemp("nginx")) as ports:
        yield ports


@pytest.fixture(params=["caddy", "nginx"])
def proxy(request: pytest.FixtureRequest) -> tuple[int, int]:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


def client(proxy: tuple[int, int]) -> httpx.Client:
    # Each has a certificate of its own making, which nobody vouches for.
    return httpx.Client(base_url=f"https://localhost:{proxy[1]}", verify=False, timeout=30)


def assert_problem(answer: httpx.Response, reason: str, id: str | None = None) -> None:
    """A refusal of the proxy has all that one of the endpoint has."""
    assert answer.headers["content-type"] == "application/problem+json"
    problem = Problem.model_validate_json(answer.content)
    assert (problem.status, problem.reason) == (answer.status_code, reason)
    assert problem.title == phrase(answer.status_code)
    assert problem.error == problem.detail != ""
    assert problem.request_id == answer.headers["x-request-id"] != ""
    assert problem.instance == f"#{problem.request_id}"
    assert id in (None, problem.request_id)
    assert answer.headers["strict-transport-security"] == "max-age=31536000"


def test_plain_http_is_sent_to_https(proxy: tuple[int, int]) -> None:
    answer = httpx.get(f"http://localhost:{proxy[0]}/v1/version?x=1", timeout=30)
    assert answer.status_code == 308
    assert re.fullmatch(r"https://localhost(:\d+)?/v1/version\?x=1", answer.headers["location"])


def test_nobody_enters_without_the_password(proxy: tuple[int, int]) -> None:
    with client(proxy) as http_client:
        refused = http_client.get("/v1/version")
        assert (refused.status_code, refused.headers["www-authenticate"][:6].lower()) == (401, "basic ")
        assert_problem(refused, "no_login")
        assert http_client.get("/v1/version", auth=(USER, "another")).status_code == 401
        answer = http_client.get("/v1/version", auth=(USER, PASSWORD))
    assert answer.status_code == 200
    assert answer.headers["strict-transport-security"] == "max-age=31536000"


def test_the_endpoint_learns_who_asks_and_never_the_password(proxy: tuple[int, int]) -> None:
    with client(proxy) as http_client:
        reached = http_client.post("/v1/recommend", auth=(USER, PASSWORD), json={"title": "x"}).json()
    assert not reached.get("authorization")
    assert reached["x-forwarded-proto"] == "https"
    assert reached["x-forwarded-for"] in ("127.0.0.1", "::1")


def test_a_requests_id_and_the_endpoints_key_pass(proxy: tuple[int, int]) -> None:
    headers = {"X-Request-ID": "a-clients/id-1", "X-API-Key": "cocite_x"}
    with client(proxy) as http_client:
        reached = http_client.get("/v1/version", auth=(USER, PASSWORD), headers=headers).json()
    assert (reached["x-request-id"], reached["x-api-key"]) == ("a-clients/id-1", "cocite_x")


def test_a_body_above_the_endpoints_limit_is_refused_by_the_proxy(proxy: tuple[int, int]) -> None:
    with client(proxy) as http_client:
        large = http_client.post("/v1/recommend", auth=(USER, PASSWORD), content=b"x" * (9 << 20))
        small = http_client.post("/v1/recommend", auth=(USER, PASSWORD), content=b"x" * (7 << 20))
    assert (large.status_code, small.status_code) == (413, 200)
    # The rest of the body never counts as the connection's next request.
    assert large.headers["connection"] == "close"
    assert_problem(large, "body_too_large")


@pytest.mark.parametrize("id", ["a-clients/id-1", 'a"quote', "two words", "x" * 129, None])
def test_an_endpoint_that_does_not_answer_is_told_in_its_form(proxy: tuple[int, int], id: str | None) -> None:
    headers = {} if id is None else {"X-Request-ID": id}
    with client(proxy) as http_client:
        answer = http_client.get("/gone", auth=(USER, PASSWORD), headers=headers)
        reached = http_client.get("/v1/version", auth=(USER, PASSWORD), headers=headers).json()
    assert (answer.status_code, answer.headers["retry-after"]) == (502, "5")
    assert_problem(answer, "not_ready", id if id == "a-clients/id-1" else None)
    # The same rule for the endpoint, so that one id finds a request in all logs.
    assert (answer.json()["request_id"] == id) == (reached["x-request-id"] == id) == (id == "a-clients/id-1")
    assert reached["x-request-id"]


@pytest.mark.parametrize("kind", RUNNING)
def test_an_endpoint_that_answers_too_late_is_told_in_its_form(
    kind: str, upstream: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """By a proxy of its own: in the time that it gives, another answer may be late on a busy machine."""
    GIVEN_UP.clear()
    with (
        RUNNING[kind](upstream, tmp_path_factory.mktemp(kind), ANSWER_S) as proxy,
        client(proxy) as http_client,
    ):
        answer = http_client.get("/slow", auth=(USER, PASSWORD))
    GIVEN_UP.set()
    assert answer.status_code == 504
    assert_problem(answer, "timeout")


@pytest.mark.parametrize("status", [401, 413, 429, 500, 502, 504])
def test_what_the_endpoint_refuses_itself_passes_as_it_is(proxy: tuple[int, int], status: int) -> None:
    with client(proxy) as http_client:
        answer = http_client.get(
            f"/refused/{status}", auth=(USER, PASSWORD), headers={"X-Request-ID": "5f0c"}
        )
    assert (answer.status_code, answer.content) == (status, OWN)
    assert answer.headers.get_list("x-request-id") == ["5f0c"]
    assert answer.headers.get_list("content-type") == ["application/problem+json"]


def test_a_head_that_does_not_come_is_ended(proxy: tuple[int, int]) -> None:
    plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    plain.check_hostname, plain.verify_mode = False, ssl.CERT_NONE
    begin = time.monotonic()
    with (
        socket.create_connection(("localhost", proxy[1]), 60) as connection,
        plain.wrap_socket(connection, server_hostname="localhost") as slow,
    ):
        slow.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        while slow.recv(65536):
            pass
    assert 5 < time.monotonic() - begin < 40


def test_old_versions_of_tls_are_refused(proxy: tuple[int, int]) -> None:
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with (
        pytest.raises(ssl.SSLError, match=r"(?i)protocol|alert|version"),
        socket.create_connection(("localhost", proxy[1]), 10) as plain,
        old.wrap_socket(plain),
    ):
        pass


def test_nginx_answers_429_to_a_client_that_sends_too_many(nginx: tuple[int, int]) -> None:
    answers: list[httpx.Response] = []

    def ask(_: int) -> None:
        with client(nginx) as http_client:
            while not any(answer.status_code == 429 for answer in answers) and len(answers) < 2_000:
                answers.append(http_client.get("/", auth=(USER, PASSWORD)))

    with ThreadPoolExecutor(8) as threads:  # one alone may send too few in a second
        list(threads.map(ask, range(8)))
    assert {answer.status_code for answer in answers} == {200, 429}
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.headers["retry-after"] == "1"
    assert_problem(refused, "rate")
