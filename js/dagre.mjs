// Bundles of dagre what our drawings need: an esbuild plugin. The package ships one minified file, of which nothing can be left out, and
// beside it a source map with all its modules; from those modules we build, so that what nobody asks for stays away. Our graphs are flat
// (no node lies in another), run from top to bottom, have no loops and no edge labels, and are laid out once, without options: the code
// for the rest is cut off by the edits below. Each names the text that it replaces, and fails the build where a new version lacks it.
// tests/view/graph/dagre.test.ts compares every coordinate with those of the untouched package.
// The map holds the graphlib that dagre was built with (4.0.5 in 3.1.3); the notices name the one that npm installs beside it (4.0.6), whose
// licence is the same to the letter.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGE = path.join(path.dirname(fileURLToPath(import.meta.url)), "node_modules/@dagrejs/dagre");
const GRAPHLIB = "node_modules/@dagrejs/graphlib/lib";

/** The phases of a layout for a flat graph, as `runLayout` calls them, without those for clusters, loops, labels, directions and options. */
const PHASES = `
    const own = buildLayoutGraph(g as any);
    makeSpaceForEdgeLabels(own);
    acyclic.run(own);
    nestingGraph.run(own);
    networkSimplex(util.asNonCompoundGraph(own));
    nestingGraph.cleanup(own);
    normalizeRanks(own);
    normalize.run(own);
    order(own);
    position(own);
    normalize.undo(own);
    translateGraph(own);
    assignNodeIntersects(own);
    reversePointsForReversedEdges(own);
    acyclic.undo(own);
    updateInputGraph(g as any, own);`;

/** Per module the texts that are replaced: all places where a text occurs. */
const EDITS = {
  "lib/layout.ts": [
    ["recursiveClusterLayout(g as any, util.notime, opts);", PHASES],
    ['import rank from "./rank";', 'import networkSimplex from "./rank/network-simplex";'],
  ],
  // A list of all of graphlib's algorithms, of which two are asked for.
  "lib/graph-lib.ts": [
    ["import {alg, Graph as GraphLibGraph}", "import {Graph as GraphLibGraph}"],
    ["export {alg};", ""],
  ],
  "lib/rank/network-simplex.ts": [
    ['import {alg} from "../graph-lib";', 'import {preorder, postorder} from "@dagrejs/graphlib/alg";'],
    ["const {preorder, postorder} = alg;", ""],
    [/^networkSimplex\.\w+ = \w+;$/gm, ""],
  ],
  // No option asks for the greedy way, and there is no layout from before to start from.
  "lib/acyclic.ts": [
    ['graph.graph().acyclicer === "greedy"', "false"],
    ["oldGraph && typeof oldGraph.node === 'function'", "false"],
  ],
  "lib/order/init-order.ts": [[".sort((a: string, b: string) => compareOldOrder(a, b))", ""]],
  "lib/order/sort.ts": [['graph && (typeof entryV.vs[0] === "string" || typeof entryW.vs[0] === "string")', "false"]],
  "lib/order/index.ts": [
    ["typeof opts.customOrder === 'function'", "false"],
    ["opts.disableOptimalOrderHeuristic", "false"],
    ["opts.constraints || []", "[]"],
    ["addSubgraphConstraints(lg, cg, sorted.vs);", ""],
    ['typeof node.minRank === "number" && typeof node.maxRank === "number"', "false"],
  ],
  "lib/order/build-layer-graph.ts": [['Object.hasOwn(node, "minRank")', "false"]],
  "lib/order/sort-subgraph.ts": [
    ["graph.children(entry.v).length", "false"],
    ["expandSubgraphs(entries, subgraphs);", ""],
    ["if (bl) {", "if (false) {"],
    ["if (bl && br) {", "if (false) {"],
  ],
  "lib/order/resolve-conflicts.ts": [
    ['entry["in"].reverse().forEach(handleIn(entry));', ""],
    ["entry.out.forEach(handleOut(entry));", ""],
  ],
  "lib/nesting-graph.ts": [[/const top: string = addBorderNode[\s\S]*?(?=\n}\n)/g, ""]],
  "lib/normalize.ts": [
    ["vRank === labelRank", "false"],
    ['node.dummy === "edge-label"', "false"],
  ],
  "lib/position/index.ts": [
    ['rankAlign === "top"', "false"],
    ['rankAlign === "bottom"', "false"],
  ],
  "lib/position/bk.ts": [
    [/,\s+findType2Conflicts\(graph, layering\)\)/g, ")"],
    [/layer\.findIndex\(v => {[\s\S]*?}\);/g, "-1;"],
    ["corePath?.includes(v)", "false"],
    ["coreNodeIndex > 0", "false"],
    ["if (hasShifted)", "if (false)"],
    [/Object\.hasOwn\(\w+, "labelpos"\)/g, "false"],
    ["if (align) {", "if (false) {"],
    [/if \(delta\) {(?=\s+sum)/g, "if (false) {"],
  ],
};

/** Methods of a graph that no bundled module calls. */
const UNUSED = ["sinks", "setNodes", "isCompound", "isLeaf", "filterNodes", "edgeCount", "setPath", "edgeAsObj"];
const GRAPH = `${GRAPHLIB}/graph.ts`;

/** What the packages' own lists of exports would give, without the rest of these lists. */
const ENTRIES = {
  "@dagrejs/dagre": 'export { layout } from "lib/layout"; export { Graph } from "lib/graph-lib";',
  "@dagrejs/graphlib": `export { Graph } from "${GRAPHLIB}/graph";`,
  "@dagrejs/graphlib/alg": `export { preorder } from "${GRAPHLIB}/alg/preorder"; export { postorder } from "${GRAPHLIB}/alg/postorder";`,
};

/** The package's modules by their path, as its source map has them. */
async function modules() {
  const map = JSON.parse(await readFile(path.join(PACKAGE, "dist/dagre.esm.js.map"), "utf8"));
  return new Map(map.sources.map((source, index) => [path.posix.join("dist", source), map.sourcesContent[index]]));
}

function edited(module, source) {
  // A signature that only declares ends its line; a method ends with the brace below its name.
  const method = (name) => new RegExp(`^    ${name}\\((?:.*;\\n|.*\\n(?:.*\\n)*?    }\\n)`, "gm");
  const methods = module === GRAPH ? UNUSED.map((name) => [method(name), ""]) : [];
  let text = source;
  for (const [wanted, replacement] of [...methods, ...(EDITS[module] ?? [])]) {
    const changed = text.replaceAll(wanted, () => replacement);
    if (changed === text) throw new Error(`${module} of dagre has no longer ${wanted}: look at js/dagre.mjs`);
    text = changed;
  }
  const called = UNUSED.find((name) => text.includes(`.${name}(`));
  if (called !== undefined) throw new Error(`${module} of dagre calls ${called}, which js/dagre.mjs leaves out`);
  return text;
}

/** An esbuild plugin: `import … from "@dagrejs/dagre"` gives the parts of dagre that a flat graph needs. */
export const flatDagre = {
  name: "flat-dagre",
  async setup(build) {
    const known = await modules();
    const place = (module) => ({ path: path.posix.join("node_modules/@dagrejs/dagre", module), namespace: "dagre", sideEffects: false });
    build.onResolve({ filter: /^@dagrejs\// }, ({ path: name }) => (name in ENTRIES ? place(name) : undefined));
    build.onResolve({ filter: /./, namespace: "dagre" }, ({ path: name, importer }) => {
      const from = path.posix.relative("node_modules/@dagrejs/dagre", path.posix.dirname(importer));
      const wanted = name.startsWith(".") ? path.posix.join(from, name) : name;
      const module = [`${wanted}.ts`, `${wanted}/index.ts`].find((file) => known.has(file));
      return module === undefined ? undefined : place(module);
    });
    build.onLoad({ filter: /./, namespace: "dagre" }, ({ path: file }) => {
      const module = path.posix.relative("node_modules/@dagrejs/dagre", file);
      return { contents: ENTRIES[module] ?? edited(module, known.get(module)), loader: "ts" };
    });
  },
};
