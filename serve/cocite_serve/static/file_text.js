// What a file is by its name, and its text.

/** The end of a file's name, in lower case, without the dot. @param {string} name */
export const suffix = (name) => /\.(\w+)$/.exec(name)?.[1].toLowerCase() ?? "";

/** A file as text: UTF-8, else as Windows writes it. @param {File} file @throws {Error} It is none. @returns {Promise<string>} */
export async function decoded(file) {
  const bytes = await file.arrayBuffer();
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    text = new TextDecoder("windows-1252").decode(bytes);
  }
  if (text.includes("\0")) throw new Error(`The file ${file.name} holds no text.`);
  return text;
}
