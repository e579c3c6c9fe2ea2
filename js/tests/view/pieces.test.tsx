import { describe, expect, it } from "vitest";
import { diffJson, diffText, pathText } from "../../src/view/diff";
import { luminance } from "../../src/view/theme";
import { agoText, clockText, durationText } from "../../src/view/time";

describe("differences", () => {
  it("of texts, by words", () => {
    expect(diffText("a quick fox", "a slow fox")).toEqual([
      { text: "a ", change: "same" },
      { text: "quick", change: "removed" },
      { text: "slow", change: "added" },
      { text: " fox", change: "same" },
    ]);
  });

  it("of long unlike texts do not take long: whole texts stand for them", () => {
    const words = (seed: number) => Array.from({ length: 6000 }, (_, index) => `w${(index * seed) % 7919}`).join(" ");
    const started = performance.now();
    const pieces = diffText(words(31), words(77));
    expect(performance.now() - started).toBeLessThan(5000);
    expect(pieces.map((piece) => piece.change)).toEqual(expect.arrayContaining(["removed", "added"]));
  }, 20_000);

  it("of values, place by place", () => {
    const before = { a: 1, b: { c: [1, 2], d: "x" }, gone: null };
    const after = { a: 1, b: { c: [1, 3], d: "x" }, fresh: 0 };
    expect(diffJson(before, after)).toEqual([
      { path: ["b", "c", 1], before: 2, after: 3 },
      { path: ["gone"], before: null, after: undefined },
      { path: ["fresh"], before: undefined, after: 0 },
    ]);
    expect(diffJson({ a: 1, b: 2 }, { b: 2, a: 1 })).toEqual([]);
    expect(pathText(["b", "c", 1])).toBe("b → c → 2");
  });
});

describe("times", () => {
  it.each([
    [-5, "0 s"],
    [59_999, "59 s"],
    [61_000, "1 min 1 s"],
    [7_260_000, "2 h 1 min"],
    [30 * 86_400_000, "30 days"],
  ])("%i ms last %s", (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });

  it("are told with their day when it is not today", () => {
    const now = new Date(2026, 10, 30, 15, 0).getTime();
    expect(clockText(now - 60_000, now)).not.toContain("2026");
    expect(clockText(now - 2 * 86_400_000, now)).toContain("2026");
    expect([agoText(10), agoText(120_000), agoText(3 * 86_400_000)]).toEqual(["just now", "2 min ago", "3 days ago"]);
  });
});

describe("what is painted behind", () => {
  it.each([
    ["rgb(17, 17, 17)", "dark"],
    ["rgb(255, 255, 255)", "light"],
    ["rgba(0, 0, 0, 0)", "nothing"],
    ["transparent", "nothing"],
    ["", "nothing"],
  ])("%s is %s", (colour, what) => {
    const found = luminance(colour);
    expect(found === null ? "nothing" : found < 0.3 ? "dark" : "light").toBe(what);
  });
});
