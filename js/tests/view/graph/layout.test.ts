import { describe, expect, it } from "vitest";
import { fold } from "../../../src/view/graph/fold";
import type { Box, Point } from "../../../src/view/graph/geometry";
import { edgeKey } from "../../../src/view/graph/geometry";
import { layOut, shortLabel } from "../../../src/view/graph/layout";
import { nearest } from "../../../src/view/graph/nearest";
import { readSession } from "../../support/fixture";
import { edge, large, picture } from "../../support/graphs";

const none = new Set<string>();

describe("layout", () => {
  it("W3.4: is the same every time, whatever the statuses", () => {
    const first = layOut(fold(large(60), none));
    const changed = large(60);
    changed.nodes = changed.nodes.map((node) => ({ ...node, status: "running" as const, held: 2 }));
    expect(layOut(fold(changed, none))).toEqual(first);
  });

  it("W3.4: lays out 500 nodes with cycles, with every box and edge inside the drawing", () => {
    const graph = large(500);
    const layout = layOut(fold(graph, none));
    expect(layout.boxes.size).toBe(500);
    expect(layout.routes.size).toBe(new Set(graph.edges.map(edgeKey)).size);
    for (const point of [...layout.routes.values()].flat()) {
      expect(point.x).toBeGreaterThan(layout.left);
      expect(point.x).toBeLessThan(layout.left + layout.width);
    }
  }, 60_000);

  it("no box lies on another, and no edge runs behind a box", () => {
    const graph = large(120);
    const layout = layOut(fold(graph, none));
    const boxes = [...layout.boxes.entries()];
    const overlapping = boxes.filter(([id, box]) => boxes.some(([other, rival]) => id < other && overlap(box, rival)));
    expect(overlapping).toEqual([]);
    const hidden = graph.edges.flatMap((one) => {
      const points = layout.routes.get(edgeKey(one)) ?? [];
      return boxes
        .filter(([id, box]) => id !== one.source && id !== one.target && behind(points, box))
        .map(([id]) => `${edgeKey(one)} behind ${id}`);
    });
    expect(hidden).toEqual([]);
  }, 30_000);

  it("draws a loop of a node onto itself beside it", () => {
    const layout = layOut(fold(picture(["a"], [edge("a", "a")]), none));
    const box = layout.boxes.get("a") as Box;
    const points = layout.routes.get(edgeKey(edge("a", "a"))) ?? [];
    expect(points).toHaveLength(4);
    expect(points.every((point) => point.x >= box.x + box.width / 2)).toBe(true);
  });

  it("lays out nothing, one node, and edges to nodes that are not there", () => {
    expect(layOut(fold(picture([], []), none))).toMatchObject({ width: 0, height: 0 });
    const layout = layOut(fold(picture(["a"], [edge("a", "gone"), edge("gone", "a")]), none));
    expect([layout.boxes.size, layout.routes.size]).toEqual([1, 0]);
  });

  it("F36: takes any name", () => {
    const ids = ["end", "a b", "é", "<x>", "x".repeat(80), "👩‍🚀", "مرحبا", "__proto__", "constructor"];
    const layout = layOut(
      fold(
        picture(
          ids,
          ids.slice(1).map((id) => edge("end", id)),
        ),
        none,
      ),
    );
    expect([...layout.boxes.keys()]).toEqual(ids);
    expect(layout.routes.size).toBe(ids.length - 1);
    expect(shortLabel("x".repeat(80))).toHaveLength(26);
    expect(shortLabel(`${"x".repeat(24)}👩‍🚀👩‍🚀👩‍🚀`)).toBe(`${"x".repeat(24)}👩‍🚀…`);
    expect(shortLabel("admin\u200b\n\u202e!")).toBe("admin[U+200B] [U+202E]!");
  });
});

function overlap(a: Box, b: Box) {
  return Math.abs(a.x - b.x) < (a.width + b.width) / 2 && Math.abs(a.y - b.y) < (a.height + b.height) / 2;
}

/** Does the drawn curve pass through the box? Sampled as the path draws it: upright at every point. */
function behind(points: readonly Point[], box: Box) {
  for (let index = 1; index < points.length; index += 1) {
    const [from, to] = [points[index - 1] as Point, points[index] as Point];
    for (let step = 0; step <= 24; step += 1) {
      const t = step / 24;
      const bend = 3 * t * t - 2 * t * t * t;
      const middle = (from.y + to.y) / 2;
      const y = (1 - t) ** 3 * from.y + 3 * (1 - t) ** 2 * t * middle + 3 * (1 - t) * t * t * middle + t ** 3 * to.y;
      const x = from.x + (to.x - from.x) * bend;
      if (Math.abs(x - box.x) < box.width / 2 - 1 && Math.abs(y - box.y) < box.height / 2 - 1) return true;
    }
  }
  return false;
}

describe("folding (W3.1)", () => {
  const graph = readSession().graph;

  it("folds the nodes that continue a step into it, with their edges", () => {
    const drawing = fold(graph, none);
    expect(drawing.nodes.map((node) => node.id)).toEqual([
      "input",
      "release/model",
      "release/call-tool",
      "release/collect",
      "release/finish",
    ]);
    expect(drawing.folded.get("release/call-tool")).toBe(2);
    expect(drawing.edges.map(({ source, target }) => `${source} ${target}`)).toEqual([
      "input release/model",
      "release/model release/call-tool",
      "release/model release/finish",
      "release/call-tool release/collect",
      "release/collect release/model",
    ]);
  });

  it("shows them when the step is unfolded, and keeps a real loop", () => {
    const drawing = fold(graph, new Set(["release/call-tool"]));
    expect(drawing.nodes).toHaveLength(7);
    expect(drawing.edges.some((one) => one.source === "release/approval")).toBe(true);
    expect(fold(picture(["a"], [edge("a", "a")]), none).edges).toHaveLength(1);
  });

  it("a taken edge stays taken when it is folded into another", () => {
    const two = { ...picture(["a", "b", "c"], [edge("a", "b"), edge("c", "b", { taken: true, kind: "route" })]) };
    two.nodes = two.nodes.map((node) => (node.id === "c" ? { ...node, folded_into: "a" } : node));
    expect(fold(two, none).edges).toEqual([{ source: "a", target: "b", kind: "static", taken: true }]);
  });
});

describe("the nearest node in a direction", () => {
  const boxes = new Map<string, Box>(
    Object.entries({ top: [0, 0], left: [-100, 80], right: [100, 80], bottom: [10, 160] }).map(([id, [x, y]]) => [
      id,
      { x: x ?? 0, y: y ?? 0, width: 80, height: 40 },
    ]),
  );
  it.each([
    ["top", "ArrowDown", "bottom"],
    ["left", "ArrowRight", "right"],
    ["right", "ArrowLeft", "left"],
    ["bottom", "ArrowUp", "top"],
    ["top", "ArrowUp", null],
    ["gone", "ArrowUp", null],
  ] as const)("from %s by %s is %s", (from, direction, to) => {
    expect(nearest(boxes, from, direction)).toBe(to);
  });
});
