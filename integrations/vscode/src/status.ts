/** The item in the status bar, and the message about an error. */

import * as vscode from "vscode";

/** What the server is doing; `sentence` says what is wrong, and what to do. */
export type State =
  | { readonly kind: "loading" | "ready" }
  | { readonly kind: "unset" | "failed"; readonly sentence: string };

/** How the status bar shows a state: its text, its tooltip, and the command of a click. */
export function shown(state: State): { text: string; tooltip: string; command: string } {
  const log = "cocite.showLog";
  switch (state.kind) {
    case "loading":
      return { text: "$(loading~spin) cocite", tooltip: "cocite loads the index.", command: log };
    case "ready":
      return { text: "$(book) cocite", tooltip: "cocite completes citations.", command: log };
    case "unset":
      return { text: "$(gear) cocite", tooltip: state.sentence, command: "cocite.openSettings" };
    case "failed":
      return { text: "$(error) cocite", tooltip: state.sentence, command: log };
  }
}

/** The item in the status bar. */
export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("cocite", vscode.StatusBarAlignment.Right, 100);

  constructor() {
    this.item.name = "cocite";
  }

  /** Show a state; of a failure, also a message with a button for the log. */
  show(state: State): void {
    Object.assign(this.item, shown(state));
    this.item.backgroundColor =
      state.kind === "failed" ? new vscode.ThemeColor("statusBarItem.errorBackground") : undefined;
    this.item.show();
    if (state.kind === "failed") {
      void report(state.sentence);
    }
  }

  dispose(): void {
    this.item.dispose();
  }
}

async function report(sentence: string): Promise<void> {
  const [log, settings] = ["Show log", "Open settings"];
  const chosen = await vscode.window.showErrorMessage(`cocite: ${sentence}`, log, settings);
  if (chosen === log) {
    await vscode.commands.executeCommand("cocite.showLog");
  } else if (chosen === settings) {
    await vscode.commands.executeCommand("cocite.openSettings");
  }
}
