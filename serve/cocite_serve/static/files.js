// Takes a file over as the draft: texts are read here, Word, PDF and zipped projects by the server.

import { draftText, Refusal } from "./api.js";
import { $, toast } from "./dom.js";
import { decoded, suffix } from "./file_text.js";
import { focusGap, replace } from "./editor.js";
import { clearFieldErrors, fieldError } from "./fields.js";
import { problem } from "./results.js";
import { changed, state } from "./state.js";

const TEXTS = ["tex", "ltx", "md", "markdown", "qmd", "rmd", "txt", "text"];
const BINARY = ["docx", "pdf", "zip"];
const KNOWN = "a draft in .tex, .md, .txt, .docx or .pdf, a LaTeX project as .zip, or a library in .bib, .ris or .json";
const TEXT_MB = 2;
const BINARY_MB = 6; // the server takes 8 MiB of it as base64

let running = null;

function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(new Error(`The file ${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}

async function textOf(file, signal) {
  const kind = suffix(file.name);
  const isText = TEXTS.includes(kind);
  if (!isText && !BINARY.includes(kind)) throw new Error(`The file ${file.name} is none that is read here. Give ${KNOWN}.`);
  const most = isText ? TEXT_MB : BINARY_MB;
  if (file.size > most * 1e6) throw new Error(`The file ${file.name} has more than ${most} MB. Leave out its pictures, or paste a part of its text.`);
  if (isText) return { text: await decoded(file), warnings: [], cited: [] };
  try {
    return await draftText(file.name, await base64(file), signal);
  } catch (error) {
    if (!(error instanceof Refusal) || error.status === 401) throw error;
    throw new Refusal(error.message.replace(/^files(?:\.0\.name)?: /, "").replace(`${file.name}: `, `The file ${file.name} `), error.status);
  }
}

/** Gives up the file that is being read. */
export function stopReading() {
  if (running) changed("draft"); // says again how the text reads
  running?.abort();
  running = null;
}

/** Puts a file into the text field, so that undo brings the text before it back. @param {File} file */
async function open(file) {
  stopReading();
  const mine = new AbortController();
  running = mine;
  $("reading").textContent = `Reading ${file.name} …`;
  try {
    const { text, warnings, cited } = await textOf(file, mine.signal);
    if (running !== mine) return;
    if (!text.trim()) throw new Error(`The file ${file.name} has no text.`);
    $("problem").hidden = true;
    replace(0, $("text").value.length, text);
    state.fileCites = new Set(cited.map(({ id }) => id).filter(Boolean));
    changed("choice");
    $("text").setSelectionRange(0, 0);
    $("sheet").scrollTop = 0;
    const count = state.gaps.length;
    if (count) focusGap(0);
    toast([`${file.name} with ${count === 1 ? "one gap" : count ? `${count} gaps` : "no gap"}.`, ...warnings].join(" "));
  } catch (error) {
    if (error.name === "AbortError" || running !== mine) return;
    if (error.status === 401) problem(error, () => open(file));
    else fieldError("text", error.message);
  } finally {
    if (running === mine) stopReading();
  }
}

/** @param {(name: string) => boolean} isLibrary @param {(file: File) => void} takeLibrary */
export function setUpFiles(isLibrary, takeLibrary) {
  const take = (files) => {
    clearFieldErrors();
    if (files.length > 1) fieldError("text", "Give one file at a time: a LaTeX project of several as a .zip.");
    else if (files.length && isLibrary(files[0].name)) takeLibrary(files[0]);
    else if (files.length) open(files[0]);
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
