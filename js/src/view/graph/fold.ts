import type { EdgeView, GraphPicture, NodeView } from "../../wire/index";

/** What is drawn: nodes in definition order, and one edge for each pair of drawn ends. */
export interface Drawing {
  readonly nodes: readonly NodeView[];
  readonly edges: readonly EdgeView[];
  /** How many continuations are folded into a step, by the step's id. */
  readonly folded: ReadonlyMap<string, number>;
}

/** Fold the nodes that continue a step after a review into their step, unless the step is unfolded (W3.1). */
export function fold(picture: GraphPicture, unfolded: ReadonlySet<string>): Drawing {
  const known = new Set(picture.nodes.map((node) => node.id));
  const home = new Map<string, string>();
  const folded = new Map<string, number>();
  for (const node of picture.nodes) {
    const step = node.folded_into;
    if (step === null || !known.has(step) || step === node.id) continue;
    folded.set(step, (folded.get(step) ?? 0) + 1);
    if (!unfolded.has(step)) home.set(node.id, step);
  }
  const at = (id: string) => home.get(id) ?? id;
  const edges = new Map<string, EdgeView>();
  for (const edge of picture.edges) {
    const [source, target] = [at(edge.source), at(edge.target)];
    if (!known.has(source) || !known.has(target)) continue;
    // A loop that folding made is no loop of the graph.
    if (source === target && edge.source !== edge.target) continue;
    const key = JSON.stringify([source, target]);
    const same = edges.get(key);
    edges.set(key, {
      source,
      target,
      kind: same === undefined || edge.kind === "static" ? edge.kind : same.kind,
      taken: edge.taken || (same?.taken ?? false),
    });
  }
  return { nodes: picture.nodes.filter((node) => !home.has(node.id)), edges: [...edges.values()], folded };
}
