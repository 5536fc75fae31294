/** The command "Suggest citations here". */

import * as vscode from "vscode";
import { CompletionRequest, type CompletionItem, type CompletionList } from "vscode-languageclient/node";

import type { Client } from "./client";
import { citationAround, LANGUAGES } from "./languages";

/** List papers for the citation or gap at the caret; where there is none, write an empty citation first. */
export async function suggestHere(client: Client | undefined): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || !(editor.document.languageId in LANGUAGES)) {
    void vscode.window.showInformationMessage("cocite suggests citations in LaTeX and Markdown drafts: open one.");
    return;
  }
  if (client === undefined) {
    void vscode.window.showInformationMessage("cocite is not ready: the status bar says why.");
    return;
  }
  const caret = editor.selection.active;
  const place = client.code2ProtocolConverter.asTextDocumentPositionParams(editor.document, caret);
  if (!isCitation(await client.sendRequest(CompletionRequest.type, place))) {
    const before = editor.document.lineAt(caret.line).text.slice(0, caret.character);
    const [opening, closing] = citationAround(editor.document.languageId, before);
    const citation = new vscode.SnippetString().appendText(opening).appendTabstop(0).appendText(closing);
    await editor.insertSnippet(citation, caret);
  }
  await vscode.commands.executeCommand("editor.action.triggerSuggest");
}

/** Whether the server sees a citation or a gap at a place: elsewhere its answer is empty, and complete. */
export function isCitation(answer: CompletionItem[] | CompletionList | null): boolean {
  return answer !== null && !Array.isArray(answer) && (answer.isIncomplete || answer.items.length > 0);
}
