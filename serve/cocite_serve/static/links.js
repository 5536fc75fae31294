// Addresses of a paper at the places that its identifiers name, and links to them.

import { el } from "./dom.js";

const ACL = /^(?:[A-Z]\d{2}-\d{4,5}|\d{4}\.[a-z0-9_]+-[a-z0-9]+\.\d+)$/;
const ARCHIVE = "astro-ph|cmp-lg|cond-mat|cs|gr-qc|hep-(?:ex|lat|ph|th)|math(?:-ph)?|nlin|nucl-(?:ex|th)|physics|q-bio|quant-ph";
// A preprint's number in an id or a DOI; its version is left out, so that arXiv shows the newest and names the others.
const ARXIV = new RegExp(String.raw`(?:^|arxiv[:.] ?|\babs/)(\d{4}\.\d{4,5}|(?:${ARCHIVE})(?:\.[a-z]{2})?/\d{7})(?:v\d+)?(?![\w.-])`, "i");
const DOI_PREFIX = /^(?:https?:\/\/(?:dx\.)?doi\.org\/|doi:\s*)/i;
const S2 = "https://api.semanticscholar.org/"; // leads to the paper's page on www.semanticscholar.org

// Quoted whole, a DOI cannot leave the address that it is put into.
const quoted = (doi) => encodeURIComponent(doi).replaceAll("%2F", "/")
  .replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/**
 * The places of a paper. The first one is that of `paper_address` in cocite/corpus/paper_address.py, which reports and
 * notebooks have; a test holds them equal.
 * @param {{id: string, doi: string}} paper
 * @returns {{name: string, address: string}[]} The best place first; empty where no identifier is of a known kind.
 */
export function links({ id, doi }) {
  const bare = (doi ?? "").trim().replace(DOI_PREFIX, "");
  const found = [];
  const add = (name, address) => { if (!found.some((one) => one.name === name)) found.push({ name, address }); };
  const acl = /^10\.(?:18653\/v1|3115(?:\/v1)?)\/(.+)$/i.exec(bare)?.[1] ?? id;
  const arxiv = (ARXIV.exec(bare) ?? ARXIV.exec(id))?.[1];
  if (bare) add("DOI", `https://doi.org/${quoted(bare)}`);
  if (ACL.test(acl)) add("ACL Anthology", `https://aclanthology.org/${acl}`);
  if (arxiv) add("arXiv", `https://arxiv.org/abs/${arxiv}`);
  if (/^[0-9a-f]{40}$/.test(id)) add("Semantic Scholar", `https://www.semanticscholar.org/paper/${id}`);
  const number = /^(?:CorpusId|S2):(\d+)$/i.exec(id)?.[1];
  if (number) add("Semantic Scholar", `https://www.semanticscholar.org/p/${number}`);
  // It finds a paper by the number of arXiv, and by the DOI.
  if (arxiv) add("Semantic Scholar", `${S2}arXiv:${arxiv}`);
  if (/^10\.\d{4,9}\//.test(bare)) add("Semantic Scholar", `${S2}DOI:${quoted(bare)}`);
  const openAlex = /^(?:https:\/\/openalex\.org\/)?(W\d{4,})$/.exec(id)?.[1];
  if (openAlex) add("OpenAlex", `https://openalex.org/${openAlex}`);
  return found;
}

/**
 * A link that opens in a tab of its own.
 * @param {string} address @param {string} text @param {string} [name] For screen readers, where it is another.
 * @param {Record<string, (event: MouseEvent) => void>} [on] Its listeners.
 */
export function outward(address, text, name, on = {}) {
  return el("a", { href: address, target: "_blank", rel: "noopener noreferrer", "aria-label": name, on }, text);
}
