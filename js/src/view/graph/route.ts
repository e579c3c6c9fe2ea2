import type { EdgeView } from "../../wire/index";
import { type Box, edgeKey, HEIGHT, type Point } from "./geometry";

const HALF = HEIGHT / 2;
/** The part of a node's side over which its edges are spread. */
const SPREAD = 0.62;

interface Way {
  readonly edge: EdgeView;
  readonly source: Box;
  readonly target: Box;
  readonly down: boolean;
  /** Places where the edge passes straight through a rank of boxes. */
  readonly passes: readonly Point[];
}

/**
 * The ways of all edges. An edge leaves and enters by the side it goes to, each at a place of its own; where it passes a rank it runs
 * straight between the boxes, and bends only in the gaps between ranks, so that no line lies behind a box.
 */
export function routesOf(
  edges: readonly EdgeView[],
  boxes: ReadonlyMap<string, Box>,
  bends: (edge: EdgeView) => readonly Point[],
): Map<string, readonly Point[]> {
  const routes = new Map<string, readonly Point[]>();
  const ways: Way[] = [];
  const ranks = [...new Set([...boxes.values()].map((box) => box.y))];
  for (const edge of edges) {
    const source = boxes.get(edge.source);
    const target = boxes.get(edge.target);
    if (source === undefined || target === undefined) continue;
    if (edge.source === edge.target) routes.set(edgeKey(edge), loop(source));
    else {
      const passes = bends(edge).filter((bend) => ranks.some((rank) => Math.abs(rank - bend.y) < 1));
      ways.push({ edge, source, target, down: target.y > source.y, passes });
    }
  }
  const ports = portsOf(ways);
  for (const way of ways) routes.set(edgeKey(way.edge), pointsOf(way, ports));
  return routes;
}

type Ports = ReadonlyMap<string, number>;

const portKey = (edge: EdgeView, end: "source" | "target") => `${end} ${edgeKey(edge)}`;

/** Where on a node's side each edge leaves or enters: in the order of where they come from, so that they do not cross at the node. */
function portsOf(ways: readonly Way[]): Ports {
  const sides = new Map<string, { key: string; toward: number; box: Box }[]>();
  for (const way of ways) {
    const { edge, source, target, down, passes } = way;
    const ends = [
      { end: "source" as const, id: edge.source, box: source, below: down, toward: (passes[0] ?? target).x },
      { end: "target" as const, id: edge.target, box: target, below: !down, toward: (passes[passes.length - 1] ?? source).x },
    ];
    for (const { end, id, box, below, toward } of ends) {
      const side = JSON.stringify([id, below]);
      sides.set(side, [...(sides.get(side) ?? []), { key: portKey(edge, end), toward, box }]);
    }
  }
  const ports = new Map<string, number>();
  for (const side of sides.values()) {
    side.sort((a, b) => a.toward - b.toward);
    side.forEach(({ key, box }, index) => {
      ports.set(key, box.x + (side.length === 1 ? 0 : (index / (side.length - 1) - 0.5) * box.width * SPREAD));
    });
  }
  return ports;
}

function pointsOf({ edge, source, target, down, passes }: Way, ports: Ports): Point[] {
  const out = down ? HALF : -HALF;
  const inner = passes.flatMap(({ x, y }) => [
    { x, y: y - out },
    { x, y: y + out },
  ]);
  return [
    { x: ports.get(portKey(edge, "source")) ?? source.x, y: source.y + out },
    ...inner,
    { x: ports.get(portKey(edge, "target")) ?? target.x, y: target.y - out },
  ];
}

function loop(box: Box): Point[] {
  const right = box.x + box.width / 2;
  return [
    { x: right, y: box.y - 8 },
    { x: right + 30, y: box.y - 8 },
    { x: right + 30, y: box.y + 8 },
    { x: right, y: box.y + 8 },
  ];
}

/** An SVG path through the points that is upright at each of them. */
export function pathOf(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let path = `M${round(first.x)},${round(first.y)}`;
  let before = first;
  for (const point of rest) {
    const middle = round((before.y + point.y) / 2);
    const straight = Math.abs(point.x - before.x) < 1 || Math.abs(point.y - before.y) < 1;
    path += straight
      ? `L${round(point.x)},${round(point.y)}`
      : `C${round(before.x)},${middle} ${round(point.x)},${middle} ${round(point.x)},${round(point.y)}`;
    before = point;
  }
  return path;
}

const round = (value: number) => Math.round(value * 10) / 10;
