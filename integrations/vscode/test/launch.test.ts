import assert from "node:assert/strict";
import { test } from "node:test";

import { launchOf, SettingsError } from "../src/launch";

const NONE = { command: "cocite", index: "", model: "", citeKeys: "cocite", noVerify: false };

test("the settings become the options of the command", () => {
  const settings = { command: " ", index: "/data/index", model: " /data/model ", citeKeys: "better-bibtex", noVerify: true };
  assert.deepEqual(launchOf(settings, "/paper", "/home/lee"), {
    command: "cocite",
    args: [
      ...["language-server", "--index", "/data/index", "--model", "/data/model"],
      ...["--cite-keys", "better-bibtex", "--no-verify"],
    ],
    cwd: "/paper",
  });
  for (const citeKeys of ["cocite", " "]) {
    assert.deepEqual(launchOf({ ...NONE, index: "/i", citeKeys }, undefined, "/h").args, ["language-server", "--index", "/i"]);
  }
  const formula = launchOf({ ...NONE, index: "/i", citeKeys: "auth.lower + year" }, undefined, "/h").args;
  assert.deepEqual(formula.slice(3), ["--cite-keys", "auth.lower + year"]);
});

test("paths are of the open folder or of the home folder, and a name is looked for on the PATH", () => {
  const index = (value: string) => launchOf({ ...NONE, index: value }, "/$&/paper", "/home/lee").args[2];
  assert.equal(index("../index"), "/$&/index");
  assert.equal(index("${workspaceFolder}/index"), "/$&/paper/index");
  assert.equal(index("~/index"), "/home/lee/index");
  assert.equal(index("~index"), "/$&/paper/~index");
  const command = (value: string) => launchOf({ ...NONE, index: "i", command: value }, "/paper", "/home/lee").command;
  assert.equal(command("cocite-2"), "cocite-2");
  assert.equal(command(".venv/bin/cocite"), "/paper/.venv/bin/cocite");
});

test("settings that start no server are answered by a sentence", () => {
  const sentence = (change: object) => {
    try {
      launchOf({ ...NONE, ...change }, undefined, "/home/lee");
    } catch (error) {
      assert.ok(error instanceof SettingsError);
      return error.message;
    }
    return "";
  };
  assert.match(sentence({}), /^Set cocite\.index to an index folder/);
  assert.match(sentence({ index: "index" }), /^cocite\.index is a path within the open folder, and none is open/);
  assert.match(sentence({ index: "/i", model: "${workspaceFolder}/m" }), /^cocite\.model is a path within/);
  assert.match(sentence({ index: "/i", command: "bin/cocite" }), /^cocite\.command is a path within/);
  assert.equal(sentence({ index: "/i" }), "");
});
