import type { Box } from "./geometry";

export type Direction = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight";

const WAY: Readonly<Record<Direction, readonly [number, number]>> = {
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
};

/** The nearest node in a direction: what lies straight ahead counts as nearer than what lies aside. Null at the rim. */
export function nearest(boxes: ReadonlyMap<string, Box>, from: string, direction: Direction): string | null {
  const start = boxes.get(from);
  if (start === undefined) return null;
  const [dx, dy] = WAY[direction];
  let best: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const [id, box] of boxes) {
    const ahead = (box.x - start.x) * dx + (box.y - start.y) * dy;
    if (id === from || ahead <= 1) continue;
    const aside = Math.abs((box.x - start.x) * dy) + Math.abs((box.y - start.y) * dx);
    const cost = ahead + 2 * aside;
    if (cost < least) {
      least = cost;
      best = id;
    }
  }
  return best;
}
