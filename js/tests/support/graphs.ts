import type { EdgeView, GraphPicture, NodeView } from "../../src/wire/index";

const NODE: NodeView = {
  id: "",
  label: "",
  agent: null,
  role: "node",
  folded_into: null,
  hold_before: "off",
  hold_after: "off",
  can_hold: true,
  status: "idle",
  held: 0,
  waiting: 0,
  interrupts: [],
};

export const edge = (source: string, target: string, more: Partial<EdgeView> = {}): EdgeView => ({
  source,
  target,
  kind: "static",
  taken: false,
  ...more,
});
export const picture = (ids: string[], edges: EdgeView[]): GraphPicture => ({
  graph_id: "g",
  topology: "t",
  entry: ids[0] ?? "",
  nodes: ids.map((id) => ({ ...NODE, id, label: id })),
  edges,
});

/** A graph like an agent's family: supervisors, workers that loop back, fan-outs that join. No randomness: the numbers come from a formula. */
export function large(count: number): GraphPicture {
  const ids = Array.from({ length: count }, (_, index) => `node_${index}`);
  const edges = ids.flatMap((id, index) => {
    const next = ids[index + 1];
    const jump = ids[index + 2 + (index % 4)];
    const back = index % 5 === 4 ? ids[index - 3] : undefined;
    return [
      ...(next === undefined ? [] : [edge(id, next)]),
      ...(index % 3 === 0 && jump !== undefined ? [edge(id, jump, { kind: "route" })] : []),
      ...(back === undefined ? [] : [edge(id, back, { kind: "route" })]),
    ];
  });
  return picture(ids, edges);
}
