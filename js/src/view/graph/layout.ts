import { layout as dagreLayout, Graph } from "@dagrejs/dagre";
import { oneLine } from "../unseen";
import type { Drawing } from "./fold";
import { type Box, HEIGHT, type Point } from "./geometry";
import { routesOf } from "./route";

/** Places of nodes (their middle) and ways of edges, in pixels; `left` and `top` are where the drawing begins. */
export interface Layout {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly boxes: ReadonlyMap<string, Box>;
  readonly routes: ReadonlyMap<string, readonly Point[]>;
}

const LETTER = 7.2;
const MARGIN = 24;
const LABEL_LIMIT = 26;

/** A label short enough to draw, with what is not seen named; more is said in the node's name. Cut between characters, never within one. */
export function shortLabel(label: string): string {
  const line = oneLine(label);
  const letters = Array.from(new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(line), (part) => part.segment);
  return letters.length > LABEL_LIMIT ? `${letters.slice(0, LABEL_LIMIT - 1).join("")}…` : line;
}

/** An estimate that needs no font, so that a drawing is the same in every browser. */
function labelWidth(label: string): number {
  const wide = Array.from(shortLabel(label)).reduce((sum, letter) => sum + ((letter.codePointAt(0) ?? 0) > 0x2e80 ? 2 : 1), 0);
  return Math.max(84, Math.round(wide * LETTER) + 58);
}

/**
 * Lay a drawing out, top to bottom. The same drawing gives the same places: nodes go in by their order, nothing is random.
 * js/dagre.mjs leaves out of the bundles what this call does not need: nodes within nodes, loops, labels on edges, other directions.
 */
export function layOut(drawing: Drawing): Layout {
  const graph = new Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 40, ranksep: 46, edgesep: 20 });
  graph.setDefaultEdgeLabel(() => ({}));
  // Names of our own: a node may be called "__proto__", and names that look like numbers would change their order.
  const names = new Map(drawing.nodes.map((node, index) => [node.id, `n${index}`]));
  const name = (id: string) => names.get(id) ?? "";
  for (const node of drawing.nodes) graph.setNode(name(node.id), { width: labelWidth(node.label), height: HEIGHT });
  for (const edge of drawing.edges) {
    if (edge.source !== edge.target && names.has(edge.source) && names.has(edge.target))
      graph.setEdge(name(edge.source), name(edge.target), { points: [] });
  }
  dagreLayout(graph);
  const boxes = new Map<string, Box>();
  for (const [id, own] of names) {
    const { x, y, width, height } = graph.node(own) as Box;
    boxes.set(id, { x, y, width, height });
  }
  const bends = (edge: { source: string; target: string }) =>
    ((graph.edge(name(edge.source), name(edge.target)) as { points?: Point[] }).points ?? []).slice(1, -1);
  const routes = routesOf(drawing.edges, boxes, bends);
  return { ...bounds(boxes, routes), boxes, routes };
}

/** The rectangle around boxes and edges: a back edge may run outside all boxes. */
function bounds(boxes: ReadonlyMap<string, Box>, routes: ReadonlyMap<string, readonly Point[]>) {
  const points = [...routes.values()].flat();
  for (const box of boxes.values()) {
    points.push({ x: box.x - box.width / 2, y: box.y - box.height / 2 }, { x: box.x + box.width / 2, y: box.y + box.height / 2 });
  }
  const least = (axis: "x" | "y") => points.reduce((found, point) => Math.min(found, point[axis]), Number.POSITIVE_INFINITY) - MARGIN;
  const most = (axis: "x" | "y") => points.reduce((found, point) => Math.max(found, point[axis]), Number.NEGATIVE_INFINITY) + MARGIN;
  if (points.length === 0) return { left: 0, top: 0, width: 0, height: 0 };
  return { left: least("x"), top: least("y"), width: most("x") - least("x"), height: most("y") - least("y") };
}
