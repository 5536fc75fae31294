/** The client of the language server. */

import { LanguageClient } from "vscode-languageclient/node";

/** A client that logs its errors and shows none: the session says in one sentence what went wrong. */
export class Client extends LanguageClient {
  override error(message: string, data?: unknown): void {
    this.outputChannel.error(data instanceof Error ? `${message} (${data.message})` : message);
  }
}
