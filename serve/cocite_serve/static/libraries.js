// Reads a library, as far as it takes to know its papers again: BibTeX, RIS, CSL-JSON, EndNote's XML, or a list of ids.

/**
 * @typedef {{title: string, year: string, ids: string[], id?: string, key?: string, source?: string}} Entry
 * Of a library; `ids`: what may hold a DOI, an arXiv number, an id of the ACL Anthology, or an address at Semantic Scholar
 * or OpenAlex. A line of a list, as a paper of the corpus, has its `id`. One of BibTeX has its key, and its own text as
 * `source`.
 */

// As cocite/drafts/paper_ids.py has them.
const S2 = /^(?:https?:\/\/)?(?:(?:www|api)\.)?semanticscholar\.org\/(?:p\/|(?:graph\/v1\/)?paper\/(?:[^/?#]*\/)?)?((?:CorpusId:)?\d{1,12}|[0-9a-f]{40})\/?(?:[?#].*)?$/i;
const OPENALEX = /^(?:https?:\/\/)?(?:(?:www|api)\.)?openalex\.org\/(?:works\/)?(W\d+)\/?$/i;
const CORPUS_ID = /^(?:CorpusId|S2): ?(\d{1,12})$/i;
/** An id of a corpus in a list: one word, or a number of Semantic Scholar; a line of a text has more words. */
const LISTED = /^(?:\S{1,512}|(?:CorpusId|S2): \d{1,12})$/i;

/**
 * The names by which a paper is known again: its identifiers, and its title where that is long enough to tell it apart.
 * @param {Entry} entry @returns {string[]}
 */
export function namesOf({ title, year, ids, id: own = "" }) {
  const names = new Set();
  if (own) names.add(`id ${own}`).add(`id ${CORPUS_ID.exec(own)?.[1] ?? own}`);
  for (const id of ids) {
    const elsewhere = S2.exec(id.trim())?.[1].toLowerCase() ?? OPENALEX.exec(id.trim())?.[1].toUpperCase();
    if (elsewhere) names.add(`id ${CORPUS_ID.exec(elsewhere)?.[1] ?? elsewhere}`);
    const text = id.trim().toLowerCase().replace(/^https?:\/\/(?:dx\.)?doi\.org\//, "").replace(/^doi:\s*/, "");
    const doi = /^10\.\d{4,9}\/\S+$/.exec(text)?.[0];
    if (doi) names.add(`doi ${doi}`);
    const acl = /^10\.(?:18653\/v1|3115(?:\/v1)?)\/(.+)$/.exec(text)?.[1]
      ?? /aclanthology\.org\/([\w.-]+?)(?:\.pdf|\.bib)?\/?$/.exec(text)?.[1]
      ?? /^(?:[a-z]\d{2}-\d{4,5}|\d{4}\.[a-z0-9_]+-[a-z0-9]+\.\d+)$/.exec(text)?.[0];
    if (acl) names.add(`acl ${acl}`);
    const arxiv = /(?:^|arxiv[:.]\s?|\babs\/|arxiv\.org\/pdf\/)(\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?\/\d{7})(?:v\d+)?(?:\.pdf)?$/.exec(text)?.[1];
    if (arxiv) names.add(`arxiv ${arxiv}`);
  }
  const plain = plainTitle(title);
  if (plain.length >= 25) names.add(`title ${plain}`);
  else if (plain && year) names.add(`title ${plain} ${year}`); // two papers may be called "Introduction"
  return [...names];
}

/** A title without case, accents, LaTeX and what is neither letter nor digit. @param {string} title */
export function plainTitle(title) {
  return title.replaceAll(/\\(?:[`'^"~=.]|[cvuHkrbd](?![a-zA-Z]))\s?/g, "").replaceAll(/\\[a-zA-Z]+\s*/g, "").replaceAll(/[{}$]/g, "")
    .normalize("NFKD").replaceAll(/\p{M}+/gu, "").toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, " ").trim();
}

/** The entries of a file. @param {string} text @param {"bib" | "ris" | "json" | "xml" | "txt"} kind @returns {Entry[]} @throws {SyntaxError} */
export function entriesOf(text, kind) {
  return { bib: bibtex, ris, json: csl, xml: endnote, txt: list }[kind](text);
}

// One pass over the text; abbreviations hold behind their definitions.
function bibtex(text) {
  const entries = [];
  const strings = new Map();
  const start = /@\s*(?:string\s*[{(]\s*([^\s=,{}()]+)\s*=\s*|([a-zA-Z]+)\s*[{(]\s*([^,{}()\s]*)\s*,)/gi;
  for (let found = start.exec(text); found; found = start.exec(text)) {
    const [head, abbreviation, kind, key] = found;
    if (abbreviation) {
      const [value, end] = bibtexValue(text, start.lastIndex, strings);
      strings.set(abbreviation.toLowerCase(), value);
      start.lastIndex = Math.max(end, start.lastIndex);
      continue;
    }
    if (/^(?:comment|preamble)$/i.test(kind)) continue;
    const fields = {};
    const used = new Set();
    let at = start.lastIndex;
    const field = /\s*([\w-]+)\s*=\s*/y;
    for (;;) {
      field.lastIndex = at;
      const name = field.exec(text)?.[1].toLowerCase();
      if (!name) break;
      const [value, end] = bibtexValue(text, field.lastIndex, strings, used);
      fields[name] ??= value;
      at = end;
      const comma = /\s*,/y;
      comma.lastIndex = at;
      if (!comma.test(text)) break;
      at = comma.lastIndex;
    }
    start.lastIndex = Math.max(at, start.lastIndex);
    const definitions = [...used].map((name) => `@string{${name} = {${strings.get(name)}}}\n`).join("");
    const { title = "", subtitle = "", year = fields.date ?? "", doi = "", url = "", eprint = "" } = fields;
    entries.push({ title: subtitle ? `${title}: ${subtitle}` : title, year: year.slice(0, 4), ids: [doi, url, eprint, fields.volume ?? "", fields.journal ?? ""],
      key, source: `${definitions}@${kind}{${key},${text.slice(found.index + head.length, at)}}` });
  }
  return entries;
}

/** The parts of a value, which # joins, with what abbreviations stand for; these are put into `used`. */
function bibtexValue(text, start, strings, used = new Set()) {
  let value = "";
  let at = start;
  const joint = /\s*#\s*/y;
  for (;;) {
    const [part, end] = bibtexPart(text, at);
    const name = part.toLowerCase();
    const known = /^[{"]/.test(text[at]) ? undefined : strings.get(name);
    if (known !== undefined) used.add(name);
    value += known ?? part;
    joint.lastIndex = end;
    if (!joint.test(text)) return [value, end];
    at = joint.lastIndex;
  }
}

/** What stands in braces, which nest, in quotes, or bare, and where it ends. */
function bibtexPart(text, start) {
  let depth = 0;
  const quoted = text[start] === '"';
  for (let at = start; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === "\\") at += 1;
    else if (sign === "{") depth += 1;
    else if (sign === "}") {
      if (!depth) return [text.slice(start, at).trim(), at]; // the entry's own
      depth -= 1;
      if (!depth && text[start] === "{") return [text.slice(start + 1, at), at + 1];
    } else if (quoted && !depth && sign === '"' && at > start) return [text.slice(start + 1, at), at + 1];
    else if (!quoted && !depth && (sign === "," || sign === "#")) return [text.slice(start, at).trim(), at];
  }
  return [text.slice(start), text.length];
}

function ris(text) {
  const entries = [];
  let one = null;
  for (const line of text.split(/\r?\n|\r/)) {
    const [, tag, value = ""] = /^([A-Z][A-Z0-9])\s{1,2}-\s?(.*)$/.exec(line) ?? [];
    if (tag === "TY") one = { title: "", year: "", ids: [] };
    if (!one || !tag) continue;
    if (tag === "TI" || tag === "T1") one.title ||= value.trim();
    else if (tag === "PY" || tag === "Y1" || tag === "DA") one.year ||= value.trim().slice(0, 4);
    else if (["DO", "UR", "M3", "AN", "JO", "JF", "T2"].includes(tag)) one.ids.push(value);
    else if (tag === "ER") {
      entries.push(one);
      one = null;
    }
  }
  return entries;
}

const word = (value) => (typeof value === "string" || typeof value === "number" ? String(value) : "");

function csl(text) {
  const read = JSON.parse(text);
  const items = Array.isArray(read) ? read : Array.isArray(read?.items) ? read.items : [];
  return items.filter((item) => item && typeof item === "object").map((item) => ({
    title: word(item.title),
    year: word(item.issued?.["date-parts"]?.[0]?.[0]).slice(0, 4),
    ids: [item.DOI, item.URL, item.number, item["container-title"], item.note].map(word),
  }));
}

function endnote(text) {
  const read = new DOMParser().parseFromString(text, "application/xml");
  if (read.querySelector("parsererror")) throw new SyntaxError("no XML"); // the browser logs that its own report has no style here
  // A field's text stands in pieces of one style each.
  const all = (record, path) => [...record.querySelectorAll(`:scope > ${path}`)].map((field) => field.textContent.replaceAll(/\s+/g, " ").trim());
  return [...read.querySelectorAll(":root > records > record")].map((record) => ({
    title: all(record, "titles > title")[0] ?? "",
    year: /\d{4}/.exec(all(record, "dates year").join(" "))?.[0] ?? "",
    ids: ["electronic-resource-num", "accession-num", "urls url", "volume", "titles > secondary-title", "periodical > full-title"]
      .flatMap((path) => all(record, path)),
  }));
}

/** An id on each line; lines that begin with # are remarks. */
function list(text) {
  const lines = text.split(/\r?\n|\r/).map((line) => line.trim()).filter((line) => line && !line.startsWith("#"));
  return lines.map((line) => ({ title: "", year: "", ids: [line], id: LISTED.test(line) ? line : "" }));
}
