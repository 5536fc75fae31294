/** One server at a time, with the client that speaks to it. */

import * as os from "node:os";

import * as vscode from "vscode";
import { CloseAction, ErrorAction, State as ClientState, type LanguageClientOptions } from "vscode-languageclient/node";

import { applySaved } from "./bibliography";
import { Client } from "./client";
import { LANGUAGES } from "./languages";
import { launchOf, SettingsError, type Launch, type Settings } from "./launch";
import { Server } from "./server";
import type { State } from "./status";

/** How often a server that ended by itself is started again, until the user restarts it. */
const RESTARTS = 3;

/** Starts, restarts and stops the server; one change at a time. */
export class Session {
  private client: Client | undefined;
  private server: Server | undefined;
  private restarts = 0;
  private turn: Promise<void> = Promise.resolve();

  constructor(
    private readonly log: vscode.LogOutputChannel,
    private readonly show: (state: State) => void,
  ) {}

  /** The client, while the server answers. */
  get running(): Client | undefined {
    return this.client?.isRunning() ? this.client : undefined;
  }

  /** Start the server with the settings of now, in the place of one that runs. */
  restart(): Promise<void> {
    this.restarts = 0;
    this.abandon();
    return this.renew();
  }

  stop(): Promise<void> {
    this.abandon();
    return this.inTurn(() => this.end());
  }

  /** Give up a server that still loads: the next turn would wait for it. */
  private abandon(): void {
    if (this.client?.isRunning() === false) {
      this.client = undefined;
      this.server?.kill();
    }
  }

  private renew(): Promise<void> {
    return this.inTurn(async () => {
      await this.end();
      await this.begin();
    });
  }

  private inTurn(work: () => Promise<void>): Promise<void> {
    this.turn = this.turn.then(work, work);
    return this.turn;
  }

  private async begin(): Promise<void> {
    let launch: Launch;
    try {
      launch = launchOf(settings(), vscode.workspace.workspaceFolders?.[0]?.uri.fsPath, os.homedir());
    } catch (error) {
      if (!(error instanceof SettingsError)) {
        throw error;
      }
      this.show({ kind: "unset", sentence: error.message });
      return;
    }
    this.show({ kind: "loading" });
    const serve = async (): Promise<Server["child"]> => {
      this.server = await Server.start(launch);
      return this.server.child;
    };
    const client = new Client("cocite", "cocite", serve, this.options());
    this.client = client;
    client.onDidChangeState(({ oldState, newState }) => {
      if (newState === ClientState.Running) {
        this.show({ kind: "ready" });
      } else if (oldState === ClientState.Running && this.client === client) {
        void this.ended();
      }
    });
    try {
      await client.start();
    } catch (error) {
      const sentence = (await this.server?.reason()) ?? (error instanceof Error ? error.message : String(error));
      if (this.client === client) {
        this.fail(sentence);
      }
    }
  }

  private async end(): Promise<void> {
    const { client, server } = this;
    this.client = this.server = undefined;
    if (client?.needsStop()) {
      // A server that does not answer is ended below.
      await client.stop().catch((error: unknown) => this.log.warn(`the server did not stop by itself: ${error}`));
    }
    server?.kill();
  }

  private fail(sentence: string): void {
    this.log.error(sentence);
    this.show({ kind: "failed", sentence });
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: Object.keys(LANGUAGES).flatMap((language) => [
        { scheme: "file", language },
        { scheme: "untitled", language },
      ]),
      outputChannel: this.log,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue }),
        // The session starts the server again, and sees whether that fails.
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
      },
      middleware: {
        // The server loads what its first answer needs after the start: the item in the status bar shows that.
        handleWorkDoneProgress: (_token, params) => this.show({ kind: params.kind === "end" ? "ready" : "loading" }),
        workspace: { handleApplyEdit: applySaved },
      },
    };
  }

  /** The server has ended by itself after it had answered. */
  private async ended(): Promise<void> {
    const { server } = this;
    const sentence = (await server?.reason()) ?? "The server ended.";
    if (this.server !== server) {
      // Meanwhile, the user has started another one.
      return;
    }
    if (this.restarts < RESTARTS) {
      this.restarts += 1;
      this.log.warn(`${sentence} It is started again.`);
      await this.renew();
    } else {
      this.fail(sentence);
    }
  }
}

function settings(): Settings {
  const all = vscode.workspace.getConfiguration("cocite");
  return {
    command: all.get("command", "cocite"),
    index: all.get("index", ""),
    model: all.get("model", ""),
    citeKeys: all.get("citeKeys", "cocite"),
    noVerify: all.get("noVerify", false),
  };
}
