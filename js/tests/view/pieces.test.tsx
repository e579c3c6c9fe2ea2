import { diffLines, diffWordsWithSpace } from "diff";
import { describe, expect, it, vi } from "vitest";
import { diffJson, diffText, pathText } from "../../src/view/diff";
import { directionOf } from "../../src/view/direction";
import { luminance } from "../../src/view/theme";
import { agoText, clockText, durationText } from "../../src/view/time";
import type { PendingCard } from "../../src/wire/index";
import { readSession } from "../support/fixture";
import { click, show, type } from "../support/show";

describe("differences", () => {
  it("of texts, by words", () => {
    expect(diffText("a quick fox", "a slow fox")).toEqual([
      { text: "a ", change: "same" },
      { text: "quick", change: "removed" },
      { text: "slow", change: "added" },
      { text: " fox", change: "same" },
    ]);
  });

  it.each([
    ["", ""],
    ["", "new"],
    ["gone\n", ""],
    ["a  b\tc\r\nd\re\n\nf", "a b\tc\nd\re\n\n\nf g"],
    ["naïve Übergröße, co\u00adoperate: 3×4÷2", "naive Übergrößen, cooperate: 3*4÷2"],
    ["Привет, мир! 👩‍🚀👍🏽 \ud800 ˇx˘", "Привет, миру! 👩‍🚀👍 \ud800 x˘"],
    ["f(x)=[1,2];\u2028“y”\u00a0…", "f(y)=[1, 3];\u2028“y” …"],
  ])("of words are those that jsdiff itself finds: %j and %j", (before, after) => {
    const expected = diffWordsWithSpace(before, after).map(({ value, added, removed }) => [value, added, removed]);
    expect(diffText(before, after).map(({ text, change }) => [text, change === "added", change === "removed"])).toEqual(expected);
  });

  it.each(["\n", "\r\n", "\r", ""])("of lines that end in %j are those that jsdiff itself finds", (end) => {
    const lines = Array.from({ length: 12_000 }, (_, at) => `line ${at}${end}`);
    const [before, after] = [[...lines, "last"].join(""), [...lines.slice(0, 9), `more${end}`, end, ...lines.slice(10)].join("")];
    const expected = diffLines(before, after).map(({ value, added, removed }) => [value, added, removed]);
    expect(diffText(before, after).map(({ text, change }) => [text, change === "added", change === "removed"])).toEqual(expected);
  });

  const unlike = (seed: number, between: string) => Array.from({ length: 5000 }, (_, at) => `w${(at * seed) % 7919}`).join(between);

  /** Every look at the clock takes a millisecond, so that giving up takes as many steps on any machine. */
  function countedClock() {
    let looks = 0;
    const spy = vi.spyOn(Date, "now").mockImplementation(() => (looks += 1));
    return { looks: () => looks, restore: () => spy.mockRestore() };
  }

  it("of 5,000 unlike words are given up: lines are compared, and where there is one line, whole texts", () => {
    const clock = countedClock();
    const [before, after] = [unlike(31, " "), unlike(77, " ")];
    expect(diffText(before, after)).toEqual([
      { text: before, change: "removed" },
      { text: after, change: "added" },
    ]);
    expect(clock.looks()).toBeLessThan(200);
    clock.restore();
  });

  it("of 5,000 unlike words in as many lines are given up twice", () => {
    const clock = countedClock();
    const pieces = diffText(unlike(31, "\n"), unlike(77, "\n"));
    expect(pieces.map((piece) => piece.change)).toEqual(["removed", "added"]);
    expect(clock.looks()).toBeLessThan(300);
    clock.restore();
  });

  it("of texts too long for words are by lines, and of five million letters whole texts", () => {
    const lines = Array.from({ length: 12_000 }, (_, at) => `line ${at}\n`);
    const before = lines.join("");
    const after = [...lines.slice(0, 6000), "one more\n", ...lines.slice(6000)].join("");
    expect(diffText(before, after).filter((piece) => piece.change !== "same")).toEqual([{ text: "one more\n", change: "added" }]);
    expect(diffText("a b ".repeat(1_300_000), "a")).toHaveLength(2);
  });

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

describe("the direction of a field", () => {
  it.each([
    ["", "ltr"],
    ["hello שלום", "ltr"],
    ["שלום hello", "rtl"],
    ["12, «مرحبا»", "rtl"],
    ["٣ apples", "ltr"],
    ["日本", "ltr"],
    ["… ?!", "ltr"],
  ])("of %j is that of its first letter: %s", (text, direction) => {
    expect(directionOf(text)).toBe(direction);
  });

  it("of a call's field and of a reason follows what is written", async () => {
    const { card } = await show({ pending: [readSession().pending[0] as PendingCard] });
    await click(card("2.0").getByTestId("reject"));
    const field = card("2.0").getByTestId("reject-reason");
    expect(field.getAttribute("dir")).toBe("ltr");
    await type(field, "לא היום");
    expect(field.getAttribute("dir")).toBe("rtl");
  });
});
