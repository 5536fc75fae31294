#!/bin/sh
# Installs code-server, which holds VS Code, into a folder, for the tests of the extension: with Node 20, a C++ compiler
# and make. Its own scripts are not run: they need more libraries, and fetch a search program that no test uses.
set -eu

folder=${1:?usage: install-code-server.sh FOLDER}
mkdir -p "$folder"
cd "$folder"
echo '{"private": true}' > package.json
npm install --ignore-scripts --no-audit --no-fund code-server@4.100.3
npm rebuild --foreground-scripts argon2
cd node_modules/code-server/lib/vscode
npm install --ignore-scripts --no-audit --no-fund --omit=dev
npm rebuild --foreground-scripts @vscode/spdlog native-watchdog
# VS Code looks for its packages under this name too.
ln -sfn node_modules node_modules.asar
