/** From the settings to the command that starts the server. */

import * as path from "node:path";

/** The settings `cocite.*`: `command`, and the options of `cocite language-server`. */
export interface Settings {
  readonly command: string;
  readonly index: string;
  readonly model: string;
  readonly citeKeys: string;
  readonly noVerify: boolean;
}

/** A program with its arguments, and the folder in which it runs. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
}

/** A setting with which no server can be started; the message says what to do. */
export class SettingsError extends Error {}

/**
 * The command that starts the server.
 *
 * @param settings - as the user wrote them. `~/` is the home folder, `${workspaceFolder}` and relative paths are of the
 *   open folder; a command without a separator is looked for on the PATH.
 * @param folder - the first folder that is open; undefined: none is.
 * @param home - the user's home folder.
 * @throws SettingsError - `cocite.index` is empty, or a path needs a folder and none is open.
 */
export function launchOf(settings: Settings, folder: string | undefined, home: string): Launch {
  if (!settings.index.trim()) {
    throw new SettingsError("Set cocite.index to an index folder, which `cocite index build` makes.");
  }
  const at = (name: string, value: string): string => resolved(name, value.trim(), folder, home);
  const command = settings.command.trim() || "cocite";
  const args = ["language-server", "--index", at("cocite.index", settings.index)];
  if (settings.model.trim()) {
    args.push("--model", at("cocite.model", settings.model));
  }
  const form = settings.citeKeys.trim();
  if (form && form !== "cocite") {
    args.push("--cite-keys", form);
  }
  if (settings.noVerify) {
    args.push("--no-verify");
  }
  const isName = !/[\\/]/.test(command);
  return { command: isName ? command : at("cocite.command", command), args, cwd: folder };
}

function resolved(name: string, value: string, folder: string | undefined, home: string): string {
  if (/^~[\\/]/.test(value)) {
    return path.join(home, value.slice(2));
  }
  const needsFolder = value.includes("${workspaceFolder}") || !path.isAbsolute(value);
  if (needsFolder && folder === undefined) {
    throw new SettingsError(`${name} is a path within the open folder, and none is open: give an absolute path.`);
  }
  // A function: a "$" in the folder's name would have a meaning in a string.
  const absolute = value.replace("${workspaceFolder}", () => folder ?? "");
  return folder === undefined ? absolute : path.resolve(folder, absolute);
}
