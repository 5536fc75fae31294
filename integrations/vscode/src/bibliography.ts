/** The edit that adds an entry to a bibliography, saved. */

import * as vscode from "vscode";
import { TextDocumentEdit, type ApplyWorkspaceEditParams, type WorkspaceMiddleware } from "vscode-languageclient/node";

/**
 * Make an edit that the server asks for, and save its files, so that LaTeX finds a new entry. A file that had unsaved
 * changes before is left unsaved: its owner decides.
 */
export const applySaved: NonNullable<WorkspaceMiddleware["handleApplyEdit"]> = async (params, next) => {
  const open = vscode.workspace.textDocuments;
  const unsaved = new Set(open.filter((document) => document.isDirty).map((document) => document.uri.toString()));
  // The client passes the edit on alone, though the type asks for a token too.
  const result = await next(params, undefined as never);
  if ("applied" in result && result.applied) {
    for (const uri of edited(params)) {
      if (!unsaved.has(uri.toString())) {
        await (await vscode.workspace.openTextDocument(uri)).save();
      }
    }
  }
  return result;
};

function edited(params: ApplyWorkspaceEditParams): vscode.Uri[] {
  const changes = params.edit.documentChanges ?? [];
  return changes.filter(TextDocumentEdit.is).map((change) => vscode.Uri.parse(change.textDocument.uri));
}
