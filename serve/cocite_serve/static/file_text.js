// What a file is by its name, and its text.

/** The end of a file's name, in lower case, without the dot. @param {string} name */
export const suffix = (name) => /\.(\w+)$/.exec(name)?.[1].toLowerCase() ?? "";

const LATEX = /\\(?:[a-zA-Z]*cite|(?:sub)*section\b|begin\{|(?:emph|text[a-z]{2})\{)/i;

/** A name for a text that was pasted, which says how it is to be read. @param {string} text */
export const draftName = (text) => (LATEX.test(text) ? "draft.tex" : "draft.md");

/** A sentence of the server about a file that was sent, as the page says it. @param {string} sentence @param {string} name */
export const aboutFile = (sentence, name) => sentence.replace(/^files(?:\.0\.name)?: /, "").replace(`${name}: `, `The file ${name} `);

/** The encoding that the first bytes of a file name; "": none. @param {Uint8Array} bytes */
function marked(bytes) {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "";
}

/** A file as text: UTF-16 with its mark, UTF-8, else as Windows writes it. @param {File} file @throws {Error} It is none. @returns {Promise<string>} */
export async function decoded(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text;
  try {
    text = new TextDecoder(marked(bytes) || "utf-8", { fatal: true }).decode(bytes);
  } catch {
    text = new TextDecoder("windows-1252").decode(bytes);
  }
  if (text.includes("\0")) throw new Error(`The file ${file.name} holds no text.`);
  return text;
}
