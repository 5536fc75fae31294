/** One server at a time, with the client that speaks to it. */

import * as os from "node:os";

import * as vscode from "vscode";
import { CloseAction, ErrorAction, LanguageClient, State as ClientState } from "vscode-languageclient/node";
import type { LanguageClientOptions } from "vscode-languageclient/node";

import { applySaved } from "./bibliography";
import { LANGUAGES } from "./languages";
import { launchOf, SettingsError, type Launch, type Settings } from "./launch";
import { Server } from "./server";
import type { State } from "./status";

/** How often a server that ended by itself is started again, until the user restarts it. */
const RESTARTS = 3;

/** Starts, restarts and stops the server; one change at a time. */
export class Session {
  private client: LanguageClient | undefined;
  private server: Server | undefined;
  private restarts = 0;
  private turn: Promise<void> = Promise.resolve();

  constructor(
    private readonly log: vscode.LogOutputChannel,
    private readonly show: (state: State) => void,
  ) {}

  /** The client, while the server answers. */
  get running(): LanguageClient | undefined {
    return this.client?.isRunning() ? this.client : undefined;
  }

  /** Start the server with the settings of now, in the place of one that runs. */
  restart(): Promise<void> {
    return this.inTurn(async () => {
      await this.end();
      await this.begin();
    });
  }

  stop(): Promise<void> {
    return this.inTurn(() => this.end());
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
    this.restarts = 0;
    const serve = async (): Promise<Server["child"]> => {
      this.server = await Server.start(launch);
      return this.server.child;
    };
    const client = new LanguageClient("cocite", "cocite", serve, this.options());
    this.client = client;
    client.onDidChangeState(({ newState }) => {
      if (newState === ClientState.Running || newState === ClientState.Starting) {
        this.show({ kind: newState === ClientState.Running ? "ready" : "loading" });
      }
    });
    try {
      await client.start();
    } catch (error) {
      const sentence = await this.server?.reason();
      this.show({ kind: "failed", sentence: sentence ?? (error instanceof Error ? error.message : String(error)) });
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

  private options(): LanguageClientOptions {
    return {
      documentSelector: Object.keys(LANGUAGES).flatMap((language) => [
        { scheme: "file", language },
        { scheme: "untitled", language },
      ]),
      outputChannel: this.log,
      // A sentence of this extension's own says what went wrong.
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue }),
        closed: () => this.closed(),
      },
      middleware: {
        // The server loads what its first answer needs after the start: the item in the status bar shows that.
        handleWorkDoneProgress: (_token, params) => this.show({ kind: params.kind === "end" ? "ready" : "loading" }),
        workspace: { handleApplyEdit: applySaved },
      },
    };
  }

  /** The server has ended by itself. */
  private closed(): { action: CloseAction; handled: boolean } {
    const wasRunning = this.client?.state === ClientState.Running;
    if (wasRunning && this.restarts < RESTARTS) {
      this.restarts += 1;
      return { action: CloseAction.Restart, handled: true };
    }
    if (wasRunning) {
      void this.server?.reason().then((sentence) => this.show({ kind: "failed", sentence }));
    }
    return { action: CloseAction.DoNotRestart, handled: true };
  }
}

function settings(): Settings {
  const all = vscode.workspace.getConfiguration("cocite");
  return {
    command: all.get("command", "cocite"),
    index: all.get("index", ""),
    model: all.get("model", ""),
    noVerify: all.get("noVerify", false),
  };
}
