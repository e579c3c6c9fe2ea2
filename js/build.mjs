// Bundles every widget into llm4s_notebook/static, where the Python package reads it; `--check` compares instead of writing.
// A bundle travels to the browser once per widget instance, so each has a size budget that fails the build.

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";
import { minify } from "rolldown/utils";
import { flatDagre } from "./dagre.mjs";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const STATIC = path.join(HERE, "..", "llm4s_notebook", "static");
const WIDGETS = ["console", "review_panel", "graph_view", "transcript", "text_review"];
const STYLES = "llm4s";
const LICENCES = "THIRD_PARTY_LICENSES.txt";
const BUDGET_BYTES_GZ = 60 * 1024;

/** Bundle in memory: file name -> bytes, and the set of packages that ended up inside. */
async function bundle() {
  const result = await esbuild.build({
    absWorkingDir: HERE,
    entryPoints: [...WIDGETS.map((name) => `src/widgets/${name}.tsx`), `src/${STYLES}.css`],
    entryNames: "[name]",
    outdir: "out",
    write: false,
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    charset: "utf8",
    jsx: "automatic",
    jsxImportSource: "preact",
    // Parts written for several module systems must not register themselves with a page's AMD loader.
    define: { "define.amd": "false", "process.env.NODE_ENV": '"production"' },
    legalComments: "none",
    plugins: [flatDagre],
    metafile: true,
    logLevel: "warning",
  });
  const files = new Map();
  for (const { path: file, contents } of result.outputFiles) {
    const name = path.basename(file);
    files.set(name, name.endsWith(".js") ? await smaller(name, Buffer.from(contents).toString()) : Buffer.from(contents));
  }
  const wanted = [...WIDGETS.map((name) => `${name}.js`), `${STYLES}.css`];
  const surplus = [...files.keys()].filter((name) => !wanted.includes(name));
  if (surplus.length > 0)
    throw new Error(`unexpected output ${surplus.join(", ")}: styles belong into src/${STYLES}.css, not into a widget's imports`);
  return { files, packages: packagesIn(result.metafile) };
}

/** A second minifier names things so that they compress better: 2 KiB gz less of the largest bundle. */
async function smaller(name, code) {
  const result = await minify(name, code, { module: true });
  if (result.errors.length > 0) throw new Error(`${name}: ${result.errors[0].message}`);
  return Buffer.from(result.code);
}

function packagesIn(metafile) {
  const found = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(input);
    if (match) found.add(match[1]);
  }
  return [...found].sort();
}

/** The notices that the bundled packages ask to be passed on. */
async function licences(packages) {
  const parts = ["The bundles in this folder contain code of the packages below, each under the licence that follows its name.\n"];
  for (const name of packages) {
    const folder = path.join(HERE, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).sort().find((entry) => /^licen[cs]e(\.\w+)?$/i.test(entry));
    if (file === undefined) throw new Error(`package ${name} is bundled but ships no licence text`);
    const text = (await readFile(path.join(folder, file), "utf8")).replaceAll("\r\n", "\n").trim();
    parts.push(`${"=".repeat(80)}\n${name} ${version} (${license})\n\n${text}\n`);
  }
  return Buffer.from(parts.join("\n"));
}

function overBudget(files) {
  const problems = [];
  for (const [name, bytes] of files) {
    if (name === LICENCES) continue;
    const gz = gzipSync(bytes, { level: 9 }).length;
    console.log(`${name.padEnd(20)} ${kib(bytes.length)} KiB, ${kib(gz)} KiB gz`);
    if (gz > BUDGET_BYTES_GZ) problems.push(`${name} is ${kib(gz)} KiB gz, over the budget of ${kib(BUDGET_BYTES_GZ)} KiB`);
  }
  return problems;
}

const kib = (bytes) => (bytes / 1024).toFixed(1).padStart(6);

async function differences(files) {
  const present = await readdir(STATIC).catch(() => []);
  const problems = present.filter((name) => !files.has(name)).map((name) => `${name} has no source`);
  for (const [name, bytes] of files) {
    const old = await readFile(path.join(STATIC, name)).catch(() => undefined);
    if (old === undefined) problems.push(`${name} is missing`);
    else if (!old.equals(bytes)) problems.push(`${name} differs from what its sources give`);
  }
  return problems;
}

async function write(files) {
  await rm(STATIC, { recursive: true, force: true });
  await mkdir(STATIC, { recursive: true });
  for (const [name, bytes] of files) await writeFile(path.join(STATIC, name), bytes);
}

const { files, packages } = await bundle();
files.set(LICENCES, await licences(packages));
const problems = overBudget(files);
if (process.argv.includes("--check")) problems.push(...(await differences(files)));
else if (problems.length === 0) await write(files);
if (problems.length > 0) {
  for (const problem of problems) console.error(`llm4s_notebook/static: ${problem}`);
  if (process.argv.includes("--check")) console.error("Run `npm run build` in js/ and commit llm4s_notebook/static.");
  process.exit(1);
}
