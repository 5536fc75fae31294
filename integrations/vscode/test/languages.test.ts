import assert from "node:assert/strict";
import { test } from "node:test";

import { citationAround } from "../src/languages";

test("a new citation is written as the language has it, and held to the word before it", () => {
  assert.deepEqual(citationAround("latex", "measured by BLEU"), ["~\\cite{", "}"]);
  assert.deepEqual(citationAround("tex", "measured by BLEU "), ["\\cite{", "}"]);
  assert.deepEqual(citationAround("latex", "BLEU~"), ["\\cite{", "}"]);
  assert.deepEqual(citationAround("quarto", "measured by BLEU"), [" [@", "]"]);
  assert.deepEqual(citationAround("markdown", ""), ["[@", "]"]);
  assert.deepEqual(citationAround("markdown", "as usual ("), ["[@", "]"]);
});
