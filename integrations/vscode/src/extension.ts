/** What the editor starts and ends: the commands, the item in the status bar, and the session with the server. */

import * as vscode from "vscode";

import { Session } from "./session";
import { Status } from "./status";
import { suggestHere } from "./suggest";

let session: Session | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("cocite", { log: true });
  const status = new Status();
  const started = (session = new Session(log, (state) => status.show(state)));
  context.subscriptions.push(
    log,
    status,
    vscode.commands.registerCommand("cocite.restart", () => started.restart()),
    vscode.commands.registerCommand("cocite.showLog", () => log.show()),
    vscode.commands.registerCommand("cocite.suggest", () => suggestHere(started.running)),
    vscode.commands.registerCommand("cocite.openSettings", () =>
      vscode.commands.executeCommand("workbench.action.openSettings", "cocite."),
    ),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("cocite")) {
        void started.restart();
      }
    }),
  );
  // The index of a large corpus takes seconds to load: the editor does not wait for it.
  void started.restart();
}

export function deactivate(): Promise<void> | undefined {
  return session?.stop();
}
