"""A real server on the loopback address, asked by sockets that send what no client library would."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from cocite_serve.http.bounded_heads import BoundedHeads, bound_all_heads, bounded_heads
from cocite_serve.settings import Limits

HEAD_S = 1.5
HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
PATIENCE_S = 30


async def echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(await request.body())


@contextmanager
def serving(limits: Limits) -> Iterator[int]:
    """The port of a server with these limits."""
    app = Starlette(routes=[Route("/", echo, methods=["GET", "POST"])])
    config = uvicorn.Config(
        app,
        port=0,
        http=bounded_heads(limits),
        log_level="critical",
        lifespan="off",
        timeout_keep_alive=PATIENCE_S,  # a machine that is busy between two requests is no idle client
    )
    server = uvicorn.Server(config)
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving(Limits(head_s=HEAD_S, head_bytes=4096)) as port:
        yield port


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)


def connect_and_send(port: int, data: bytes) -> socket.socket:
    """A connection on which these bytes came in time: the server waits for them from the connection on.

    Where this process was held up between the two, it is done again.
    """
    until = time.monotonic() + 4 * PATIENCE_S
    while True:
        begin = time.monotonic()
        assert begin < until
        connection = connect(port)
        with suppress(OSError):  # it was closed meanwhile
            connection.sendall(data)
            if time.monotonic() - begin < HEAD_S / 3:
                return connection
        connection.close()


def half_a_head(port: int) -> socket.socket:
    return connect_and_send(port, HEAD[:20])


def read_text(connection: socket.socket) -> bytes:
    """An answer whose body is ``text``, on a connection that stays open: head and body may come one by one."""
    answer = b""
    while not answer.endswith(b"\r\n\r\ntext"):
        part = connection.recv(65536)
        assert part, answer
        answer += part
    return answer


def read_all(connection: socket.socket) -> bytes:
    """What comes until the server closes the connection."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def refusal(answer: bytes) -> tuple[int, dict[str, str]]:
    """Status and problem of the only answer on a connection."""
    head, body = answer.split(b"\r\n\r\n", 1)
    assert b"content-type: application/problem+json" in head.lower()
    assert b"connection: close" in head.lower()
    return int(head.split(b" ", 2)[1]), json.loads(body)


def test_half_a_head_is_answered_408_and_the_connection_closed(port: int) -> None:
    begin = time.monotonic()
    with half_a_head(port) as connection:
        status, body = refusal(read_all(connection))
    assert (status, body["reason"]) == (408, "head_too_slow")
    assert body["error"] == "The head of the request did not come within 1.5 seconds."
    assert time.monotonic() - begin >= HEAD_S * 0.9


def test_a_head_that_trickles_in_has_no_more_time(port: int) -> None:
    with connect(port) as connection:
        for byte in HEAD:
            try:
                connection.sendall(bytes([byte]))
            except OSError:  # it is closed
                break
            time.sleep(HEAD_S / 10)
        else:
            pytest.fail("all of the head was taken")


def test_a_connection_on_which_nothing_comes_is_closed_without_a_word(port: int) -> None:
    with connect(port) as connection:
        assert read_all(connection) == b""


def test_three_hundred_half_heads_are_dropped_while_others_are_answered(port: int) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(half_a_head(port)) for _ in range(300)]
        assert httpx.post(f"http://127.0.0.1:{port}/", content="text", timeout=PATIENCE_S).text == "text"
        assert {refusal(read_all(connection))[0] for connection in slow} == {408}


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"a" * 5000,
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 5000,
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-Many: 1\r\n" * 500,
    ],
    ids=["path", "field", "fields"],
)
def test_a_head_that_is_too_long_is_refused_before_it_ends(port: int, head: bytes) -> None:
    with connect_and_send(port, head) as connection:
        status, body = refusal(read_all(connection))
    assert (status, body["reason"]) == (431, "head_too_large")
    assert body["error"] == "The head of the request is longer than 4,096 bytes."


def test_the_body_is_no_part_of_the_head(port: int) -> None:
    with connect_and_send(port, HEAD) as connection:
        time.sleep(2 * HEAD_S)  # the limit of a body is another
        connection.sendall(b"text")
        assert read_text(connection).startswith(b"HTTP/1.1 200")
    answer = httpx.post(f"http://127.0.0.1:{port}/", content=b"x" * 100_000, timeout=PATIENCE_S)
    assert len(answer.content) == 100_000


def test_the_head_of_a_second_request_has_its_own_time(port: int) -> None:
    with connect_and_send(port, HEAD + b"text") as connection:
        assert b"200 OK" in read_text(connection)
        time.sleep(2 * HEAD_S)  # waiting between two requests is no slow head
        connection.sendall(HEAD + b"text")
        assert b"200 OK" in read_text(connection)
        connection.sendall(HEAD[:20])
        assert refusal(read_all(connection))[0] == 408


def test_two_requests_at_once_are_both_answered(port: int) -> None:
    last = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with connect_and_send(port, (HEAD + b"text") * 2 + last) as connection:
        assert read_all(connection).count(b"HTTP/1.1 200") == 3


def test_what_is_no_http_is_refused_in_the_form_of_the_api(port: int) -> None:
    with connect_and_send(port, b"\x16\x03\x01 no http\r\n\r\n") as connection:
        status, body = refusal(read_all(connection))
    assert (status, body["reason"]) == (400, "malformed")


def test_one_connection_too_many_is_told_to_come_again() -> None:
    with serving(Limits(connections=2, head_s=60)) as port:
        with connect(port), connect(port):
            time.sleep(0.2)  # the server has taken both in
            with connect(port) as third:
                answer = read_all(third)
            assert b"retry-after: 1" in answer.lower()
            status, body = refusal(answer)
            assert (status, body["reason"]) == (503, "overloaded")
        until = time.monotonic() + PATIENCE_S
        while not answers(port):  # until the server has noticed that the two are closed
            assert time.monotonic() < until


def answers(port: int) -> bool:
    """Whether a request is answered; a refused connection may be closed while the request is sent."""
    with suppress(httpx.TransportError):
        return httpx.get(f"http://127.0.0.1:{port}/", timeout=PATIENCE_S).status_code == 200
    return False


def test_servers_that_name_no_protocol_get_the_limits_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(uvicorn.config.HTTP_PROTOCOLS, "auto", "")  # is put back after the test
    bound_all_heads(Limits(head_s=7))
    config = uvicorn.Config(Starlette())
    config.load()
    assert issubclass(config.http_protocol_class, BoundedHeads)
    assert config.http_protocol_class.limits.head_s == 7
