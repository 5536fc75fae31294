// The styles of references that the page offers. The server knows others by their names in CSL's public repository.

import { el } from "./dom.js";

// As SHORT_NAMES of cocite/drafts/style_names.py, which a test compares.
export const STYLES = {
  harvard: "Harvard", apa: "APA", acl: "ACL", acm: "ACM", ieee: "IEEE", chicago: "Chicago", vancouver: "Vancouver", nature: "Nature",
};

/** Options of a list. @param {(name: string) => string} value @param {(label: string) => string} says @returns {HTMLElement[]} */
export const styleOptions = (value, says) =>
  Object.entries(STYLES).map(([name, label]) => el("option", { value: value(name) }, says(label)));
