/** The server as a process: started, and asked for its reason when it has ended. */

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";

import type { Launch } from "./launch";

/** Characters of the end of the log that are searched for the reason. */
const KEPT = 8_192;
const CLOSING_MS = 2_000;

/** A server that runs, or has run. */
export class Server {
  private tail = "";
  private readonly closed: Promise<void>;

  private constructor(readonly child: ChildProcessWithoutNullStreams) {
    child.stderr.on("data", (part: Buffer) => {
      this.tail = (this.tail + part.toString()).slice(-KEPT);
    });
    this.closed = new Promise((resolve) => child.once("close", () => resolve()));
  }

  /**
   * Start a server.
   *
   * @throws Error - the system cannot start the command; the message says why and what to do.
   */
  static start({ command, args, cwd }: Launch): Promise<Server> {
    return new Promise((resolve, reject) => {
      const child = spawn(command, [...args], { cwd });
      const server = new Server(child);
      child.once("spawn", () => resolve(server));
      child.on("error", (error: NodeJS.ErrnoException) => reject(new Error(startFailure(command, error.code))));
    });
  }

  /** Why the server has ended, in a sentence. */
  async reason(): Promise<string> {
    // The end of the log may arrive after the end of the output, by which the editor sees that the server has gone.
    await Promise.race([this.closed, new Promise((resolve) => setTimeout(resolve, CLOSING_MS).unref())]);
    return failure(this.tail, this.child.exitCode, this.child.signalCode);
  }

  /** End the process, if it runs. */
  kill(): void {
    this.child.kill();
  }
}

/** Why a command cannot be started, by the system's code. */
export function startFailure(command: string, code: string | undefined): string {
  return code === "ENOENT"
    ? `${command} was not found: install cocite, and set cocite.command to its path.`
    : `${command} cannot be started (${code ?? "unknown error"}): set cocite.command to cocite's path.`;
}

/**
 * Why a server has ended: the last line of its log that is an error of the command, else its exit code or signal.
 *
 * @param log - what the server wrote to its standard error.
 */
export function failure(log: string, code: number | null, signal: string | null): string {
  const prefix = "cocite: ";
  const error = log
    .split(/\r?\n/)
    .filter((line) => line.startsWith(prefix) && !line.startsWith(`${prefix}warning: `))
    .at(-1);
  if (error !== undefined) {
    return error.slice(prefix.length);
  }
  const end = signal !== null ? `by the signal ${signal}` : `with the exit code ${code}`;
  const how = signal === null && code === null ? "closed its output" : `ended ${end}`;
  return `The server ${how}; the log may say more.`;
}
