// The reader's own library: which of the recommended papers are in it. It stays in this browser.

import { $, toast } from "./dom.js";
import { decoded, suffix } from "./file_text.js";
import { entriesOf, namesOf } from "./libraries.js";
import { changed, state } from "./state.js";
import { keepLibrary, keptLibrary } from "./storage.js";

const KINDS = ["bib", "ris", "json", "xml"];
const LIST = "txt";
const BROKEN = { json: "is not valid JSON. Export it anew as CSL-JSON.", xml: "is not valid XML. Export it anew as EndNote XML." };
const MOST_MB = 20;
const MOST_ENTRIES = 50_000;

/** @type {{file: string, count: number, names: Set<string>} | null} */
let library = null;
/** @type {import("./libraries.js").Entry[]} Of the .bib that was given in this visit: its own text is kept nowhere. */
let entriesHeld = [];

export const libraryEntries = () => entriesHeld;

export const hasLibrary = () => library !== null;

/** Whether a paper of the API is in the library. @param {{id: string, doi: string, title: string, year: number | null}} paper */
export function isOwned(paper) {
  const { id, doi, title, year } = paper;
  return library !== null && namesOf({ title, year: String(year ?? ""), ids: [id, doi ?? ""], id }).some((name) => library.names.has(name));
}

/** Whether a file's name says that it is a library; a list of ids may be a draft by its name. @param {string} name */
export const isLibrary = (name) => KINDS.includes(suffix(name));

function paint() {
  const papers = library?.count === 1 ? "1 paper" : `${library?.count.toLocaleString("en")} papers`;
  $("library_summary").textContent = library ? `My library: ${papers}` : "My library";
  $("library_says").textContent = library ? `${papers} of ${library.file} are marked where they are suggested.`
    : "Choose what your reference manager exports (.bib, .ris, .json or EndNote’s .xml), or drop it on the page. Or choose a .txt with an "
      + "id on each line: a DOI, or one of arXiv, the ACL Anthology, Semantic Scholar, OpenAlex or the corpus. It stays in this browser until you press Clear.";
  $("library_forget").hidden = !library;
  $("owned_pair").hidden = !library;
  if (!library) $("owned").value = "";
}

function use(value) {
  library = value;
  paint();
  changed("library");
}

function complain(sentence) {
  $("library_error").textContent = sentence;
  $("library_error").hidden = !sentence;
  if (sentence) $("library_box").open = true;
}

/** Takes a file over as the library, in place of the one before. @param {File} file */
export async function takeLibrary(file) {
  complain("");
  try {
    const kind = suffix(file.name);
    if (!isLibrary(file.name) && kind !== LIST) throw new Error(`The file ${file.name} is no library. Give a .bib, .ris, .json (CSL-JSON) or .xml (EndNote) file, or a .txt with an id on each line.`);
    if (file.size > MOST_MB * 1e6) throw new Error(`The file ${file.name} has more than ${MOST_MB} MB. Export a part of your library.`);
    const text = await decoded(file);
    const found = read(text, file.name);
    const entries = found.map(namesOf).filter((names) => names.length);
    if (!entries.length) throw new Error(`The file ${file.name} has no ${kind === LIST ? "line with an id alone" : "entry with a title or a DOI"}.`);
    if (entries.length > MOST_ENTRIES) throw new Error(`The file ${file.name} has more than ${MOST_ENTRIES.toLocaleString("en")} papers. Export a part of your library.`);
    const names = new Set(entries.flat());
    entriesHeld = found.filter(({ key }) => key);
    use({ file: file.name, count: entries.length, names });
    const kept = keepLibrary({ file: file.name, count: entries.length, names: [...names] });
    toast(`My library: ${entries.length.toLocaleString("en")} ${entries.length === 1 ? "paper" : "papers"}${kept ? "" : ", too many to keep after this visit"}`);
  } catch (error) {
    complain(error.message);
  }
}

function read(text, name) {
  try {
    return entriesOf(text, suffix(name));
  } catch {
    throw new Error(`The file ${name} ${BROKEN[suffix(name)]}`);
  }
}

/** Forgets the library, also in this browser's storage. */
export function forgetLibrary() {
  keepLibrary(null);
  entriesHeld = [];
  complain("");
  use(null);
}

export function setUpLibrary() {
  const kept = keptLibrary();
  library = kept ? { ...kept, names: new Set(kept.names) } : null;
  paint();
  $("library_open").addEventListener("click", () => $("library_file").click());
  $("library_file").addEventListener("change", () => {
    const [file] = $("library_file").files;
    $("library_file").value = "";
    if (file) takeLibrary(file);
  });
  $("library_forget").addEventListener("click", () => {
    forgetLibrary();
    $("library_open").focus();
  });
  $("owned").addEventListener("change", () => { if (state.answer) changed("library"); });
}
