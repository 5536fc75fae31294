// Takes a file over as the draft: texts are read here, Word, PDF and zipped projects by the server.

import { draftText, Refusal } from "./api.js";
import { bibliographyOf, takeCited } from "./cited.js";
import { $, toast } from "./dom.js";
import { aboutFile, decoded, suffix } from "./file_text.js";
import { focusGap, replace } from "./editor.js";
import { clearFieldErrors, fieldError } from "./fields.js";
import { problem } from "./results.js";
import { changed, markedGaps, state } from "./state.js";
import { fillings, takeWord } from "./word.js";

const TEXTS = ["tex", "ltx", "rnw", "md", "markdown", "qmd", "rmd", "txt", "text"];
const BINARY = ["docx", "pdf", "zip"];
const KNOWN = "a draft in .tex, .md, .txt, .docx or .pdf, a LaTeX project as .zip, or a library in .bib, .ris, .json or .xml";
const TEXT_MB = 2;
const BINARY_MB = 6; // the server takes 8 MiB of it as base64

const NOTHING = { cited: [], usually_cited_together: [], gaps: 0 };

let running = null;

function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(new Error(`The file ${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}

async function textOf(file, bibliographies, signal) {
  const kind = suffix(file.name);
  const isText = TEXTS.includes(kind);
  if (!isText && !BINARY.includes(kind)) throw new Error(`The file ${file.name} is none that is read here. Give ${KNOWN}.`);
  const most = isText ? TEXT_MB : BINARY_MB;
  if (file.size > most * 1e6) throw new Error(`The file ${file.name} has more than ${most} MB. Leave out its pictures, or paste a part of its text.`);
  const bib = (await Promise.all(bibliographies.map(decoded))).join("\n");
  try {
    if (!isText) {
      const sent = { name: file.name, base64: await base64(file) };
      return { ...await draftText(sent, kind === "zip" ? bib : "", signal), word: kind === "docx" ? sent : null };
    }
    const text = await decoded(file);
    const entries = bibliographyOf(text, bib);
    const found = entries ? await draftText({ name: file.name, text }, entries, signal) : NOTHING;
    return { ...found, text, warnings: [], word: null }; // as it is: the author reads it here
  } catch (error) {
    if (!(error instanceof Refusal) || error.status === 401) throw error;
    throw new Refusal(aboutFile(error.message, file.name), error.status, null, error.id);
  }
}

/** Gives up the file that is being read. */
export function stopReading() {
  if (running) changed("draft"); // says again how the text reads
  running?.abort();
  running = null;
}

/**
 * Puts a file into the text field, so that undo brings the text before it back.
 * @param {File} file @param {File[]} bibliographies The .bib files that came with it.
 */
async function open(file, bibliographies) {
  stopReading();
  const mine = new AbortController();
  running = mine;
  $("reading").textContent = `Reading ${file.name} …`;
  try {
    const { text, warnings, cited, gaps, word, usually_cited_together: together } = await textOf(file, bibliographies, mine.signal);
    if (running !== mine) return;
    if (!text.trim()) throw new Error(`The file ${file.name} has no text.`);
    $("problem").hidden = true;
    const before = fillings();
    replace(0, $("text").value.length, text);
    takeCited(cited, together);
    takeWord(word, gaps, before);
    $("text").setSelectionRange(0, 0);
    $("sheet").scrollTop = 0;
    const count = markedGaps().length;
    if (count) focusGap(0);
    toast([`${file.name} with ${count === 1 ? "one gap" : count ? `${count} gaps` : "no gap"}.`, ...warnings].join(" "));
  } catch (error) {
    if (error.name === "AbortError" || running !== mine) return;
    if (error.status === 401 || error.status >= 500) problem(error, () => open(file, bibliographies));
    else fieldError("text", error.message);
  } finally {
    if (running === mine) stopReading();
  }
}

/** @param {(name: string) => boolean} isLibrary @param {(file: File) => void} takeLibrary */
export function setUpFiles(isLibrary, takeLibrary) {
  const take = (files) => {
    clearFieldErrors();
    const bibliographies = files.filter((file) => suffix(file.name) === "bib");
    const others = files.filter((file) => suffix(file.name) !== "bib");
    if (files.length === 1 && isLibrary(files[0].name)) takeLibrary(files[0]);
    else if (others.length === 1 && bibliographies.every((file) => file.size <= TEXT_MB * 1e6)) open(others[0], bibliographies);
    else if (others.length === 1) fieldError("text", `A bibliography has more than ${TEXT_MB} MB. Give one with the entries that the draft cites.`);
    else if (files.length) fieldError("text", "Give one draft at a time, with its .bib files or without: a LaTeX project of several files as a .zip.");
  };
  $("open_file").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", () => {
    take([...$("file").files]);
    $("file").value = ""; // so that the same file may be chosen again
  });
  // Anywhere on the page: beside the field, the browser would open the file in place of the page.
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const mark = (on) => document.body.classList.toggle("dropping", on);
  document.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
    mark(true);
  });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) mark(false); });
  document.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    mark(false);
    take([...event.dataTransfer.files]);
  });
}
