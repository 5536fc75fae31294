// Bundles the extension into dist/extension.js, with the licences of what it holds; --tests: the tests into dist/test/.

import { copyFile, readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";

import { build } from "esbuild";

const common = { bundle: true, platform: "node", format: "cjs", target: "node20", external: ["vscode"], logLevel: "warning" };

if (process.argv.includes("--tests")) {
  const files = (await readdir("test")).filter((name) => name.endsWith(".test.ts"));
  await build({ ...common, entryPoints: files.map((name) => `test/${name}`), outdir: "dist/test" });
} else {
  const { metafile } = await build({
    ...common,
    entryPoints: ["src/extension.ts"],
    outfile: "dist/extension.js",
    minify: true,
    legalComments: "none",
    metafile: true,
  });
  await writeFile("dist/third-party-licenses.txt", await licences(Object.keys(metafile.inputs)));
  await copyFile("../../LICENSE", "LICENSE");
}

/** The licences of the packages that the files of a bundle are from. */
async function licences(inputs) {
  const folders = new Set(inputs.flatMap((input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input) ?? []));
  const texts = [...folders].sort().map(async (folder) => {
    const { name, version } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) {
      throw new Error(`${name} has no licence file, so that it cannot be shipped`);
    }
    return `${name} ${version}\n\n${await readFile(path.join(folder, file), "utf8")}`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n`);
}
