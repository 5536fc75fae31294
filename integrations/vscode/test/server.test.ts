import assert from "node:assert/strict";
import { test } from "node:test";

import { failure, Server } from "../src/server";

const node = (script: string) => ({ command: process.execPath, args: ["-e", script], cwd: undefined });

test("the reason of an end is the command's own error, not a warning or the usage", () => {
  const log = "cocite: warning: old\ncocite: /a: holds no index\r\nUsage: cocite language-server\n";
  assert.equal(failure(log, 2, null), "/a: holds no index");
  assert.equal(failure("Traceback\ncocite: warning: old\n", 1, null), "The server ended with the exit code 1; the log may say more.");
  assert.equal(failure("", null, "SIGKILL"), "The server ended by the signal SIGKILL; the log may say more.");
  assert.equal(failure("", null, null), "The server closed its output; the log may say more.");
});

test("a process that has ended is asked for its reason, however late its log comes", async () => {
  const script = 'process.stdout.end(); setTimeout(() => { console.error("cocite: no index"); process.exit(2); }, 100)';
  const server = await Server.start(node(script));
  assert.equal(await server.reason(), "no index");
});

test("a process is ended", async () => {
  const server = await Server.start(node("setInterval(() => {}, 1000)"));
  server.kill();
  assert.match(await server.reason(), /^The server ended by the signal SIGTERM/);
});

test("a command that is not there is named, with what to do", async () => {
  const launch = { command: "/nowhere/cocite", args: [], cwd: undefined };
  await assert.rejects(Server.start(launch), {
    message: "/nowhere/cocite was not found: install cocite, and set cocite.command to its path.",
  });
  const folder = { ...launch, command: process.cwd() };
  await assert.rejects(Server.start(folder), /cannot be started \(EACCES\): set cocite\.command to cocite's path\.$/);
});
