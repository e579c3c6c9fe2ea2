// @vitest-environment node
import { Graph as WholeGraph, layout as wholeLayout } from "@dagrejs/dagre";
import { build } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { flatDagre } from "../../../dagre.mjs";
import { fold } from "../../../src/view/graph/fold";
import { layOut } from "../../../src/view/graph/layout";
import type { GraphPicture } from "../../../src/wire/index";
import { fixtureNames, readSession } from "../../support/fixture";
import { edge, large, picture } from "../../support/graphs";

type Library = { Graph: typeof WholeGraph; layout: typeof wholeLayout; layOut: typeof layOut };

/** The bundles hold less of dagre than its package: what is left must put everything where the whole would. */
let bundled: Library;
const whole: Library = { Graph: WholeGraph, layout: wholeLayout, layOut };

beforeAll(async () => {
  const contents = 'export * from "@dagrejs/dagre"; export { layOut } from "./src/view/graph/layout";';
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: `${import.meta.dirname}/../../..` },
    plugins: [flatDagre],
    bundle: true,
    write: false,
    format: "esm",
    minify: true,
  });
  bundled = await import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(outputFiles[0]?.text ?? "")}`);
});

/** Numbers that look random and are the same every time. */
function numbers(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
}

/** A graph of boxes of many sizes with cycles, parts apart, and edges over many ranks; every coordinate that the layout gives it. */
function coordinates({ Graph, layout }: Library, seed: number) {
  const next = numbers(seed);
  const graph = new Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 40, ranksep: 46, edgesep: 20 });
  graph.setDefaultEdgeLabel(() => ({}));
  const count = 1 + next(40);
  for (let index = 0; index < count; index += 1) graph.setNode(`n${index}`, { width: 84 + next(200), height: 40 });
  for (let left = next(count * 2); left > 0; left -= 1) {
    const [from, to] = [next(count), next(count)];
    if (from !== to) graph.setEdge(`n${from}`, `n${to}`, { points: [] });
  }
  layout(graph);
  return { all: graph.graph(), nodes: graph.nodes().map((id) => graph.node(id)), edges: graph.edges().map((way) => graph.edge(way)) };
}

describe("the dagre of the bundles", () => {
  it("is less than the package", () => {
    expect(bundled.layout.toString()).not.toBe(whole.layout.toString());
  });

  it.each(Array.from({ length: 60 }, (_, seed) => seed))("gives the same coordinates as the package: graph %i", (seed) => {
    const expected = coordinates(whole, seed);
    expect(expected.nodes.every(({ x, y }) => Number.isFinite(x + y))).toBe(true);
    expect(coordinates(bundled, seed)).toEqual(expected);
  });

  const hub = Array.from({ length: 30 }, (_, index) => `worker ${index}`);
  it.each<[string, GraphPicture]>([
    ["no node", picture([], [])],
    ["one node with a loop", picture(["a"], [edge("a", "a")])],
    ["two nodes that call each other", picture(["a", "b"], [edge("a", "b"), edge("b", "a")])],
    ["a hub", picture(["hub", ...hub], [...hub.map((id) => edge("hub", id)), ...hub.map((id) => edge(id, "hub"))])],
    ["an agent's family of 60", large(60)],
    ["an agent's family of 200", large(200)],
    ...fixtureNames("sessions").map((name) => [name, readSession(name).graph] satisfies [string, GraphPicture]),
  ])("draws the same: %s", (_, graph) => {
    const drawing = fold(graph, new Set());
    expect(bundled.layOut(drawing)).toEqual(whole.layOut(drawing));
  });
});
