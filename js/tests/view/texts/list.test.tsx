import { act } from "@testing-library/preact";
import { describe, expect, it } from "vitest";
import { scrolledTo, windowOf } from "../../../src/view/texts/window";
import { click, press } from "../../support/show";
import { showTexts } from "./show";

const MANY = Array.from({ length: 10_000 }, (_, n) => `text ${n} is guaranteed`);

describe("the window of the list (T3.1)", () => {
  it("draws what is seen and a few around it", () => {
    expect(windowOf(10_000, 0, 414)).toEqual({ from: 0, to: 17 });
    expect(windowOf(10_000, 46 * 5000, 414)).toEqual({ from: 4992, to: 5017 });
    expect(windowOf(10_000, 46 * 9991, 414)).toEqual({ from: 9983, to: 10_000 });
    expect(windowOf(0, 0, 414)).toEqual({ from: 0, to: 0 });
    expect(windowOf(3, 99_999, 414)).toEqual({ from: 3, to: 3 });
  });

  it("scrolls no further than it takes to see a row", () => {
    expect(scrolledTo(3, 0, 414)).toBe(0);
    expect(scrolledTo(9, 0, 414)).toBe(46);
    expect(scrolledTo(2, 460, 414)).toBe(92);
  });
});

describe("ten thousand texts", () => {
  it("T3.1: are few rows in the page, asked for when they are seen", async () => {
    const { el, fake, list } = await showTexts(MANY);
    expect(el.querySelectorAll('[role="option"]')).toHaveLength(17);
    expect(fake.sent("rows").flatMap(({ positions }) => positions)).toHaveLength(17);
    await act(() => {
      list().scrollTop = 46 * 5000;
      list().dispatchEvent(new Event("scroll"));
    });
    await fake.settle();
    const positions = [...el.querySelectorAll<HTMLElement>('[role="option"]')].map((row) => Number(row.dataset.position));
    expect(positions).toHaveLength(25);
    expect(positions).toContain(5000);
    expect(el.querySelector('[data-position="5000"]')?.textContent).toContain("text 5000 is guaranteed");
    expect(el.querySelector('[data-position="5000"]')?.getAttribute("aria-posinset")).toBe("5001");
  });

  it("asks for no row twice while the list stays", async () => {
    const { fake, list } = await showTexts(MANY);
    for (const top of [46 * 100, 0, 46 * 100]) {
      await act(() => {
        list().scrollTop = top;
        list().dispatchEvent(new Event("scroll"));
      });
      await fake.settle();
    }
    const asked = fake.sent("rows").flatMap(({ positions }) => positions);
    expect(new Set(asked).size).toBe(asked.length);
  });

  it("keeps the selected row in sight and names it to a screen reader", async () => {
    const { list, fake } = await showTexts(MANY);
    for (let count = 0; count < 30; count += 1) await press(list(), "j");
    await fake.settle();
    const active = list().getAttribute("aria-activedescendant");
    expect(active).toMatch(/text-30$/);
    expect(document.getElementById(active ?? "")?.getAttribute("aria-selected")).toBe("true");
    expect(list().scrollTop).toBeGreaterThan(0);
  });

  it("does not follow when the person scrolls away from the selection", async () => {
    const { list, fake } = await showTexts(MANY);
    await act(() => {
      list().scrollTop = 46 * 300;
      list().dispatchEvent(new Event("scroll"));
    });
    await fake.settle();
    expect(list().scrollTop).toBe(46 * 300);
    expect(list().hasAttribute("aria-activedescendant")).toBe(false);
  });
});

describe("what is listed (T2.4)", () => {
  it("opens the first undecided text", async () => {
    const { fake, shown, page } = await showTexts(["a", "b", "c"], {}, { settled: false });
    fake.marks[0] = "block";
    await fake.settle();
    expect(shown()).toBe("1");
    expect(page.getByTestId("texts-found").textContent).toBe("3 texts listed");
  });

  it("asks the kernel for what a number of the table counts", async () => {
    const { fake, page } = await showTexts();
    await click(page.getByTestId("texts-count-no promises-allow"));
    expect(fake.sent("find").at(-1)).toEqual({ kind: "find", show: "refused", verdict: "allow", guardrail: "no promises", search: "" });
    expect(page.getByTestId("texts-count-no promises-allow").getAttribute("aria-pressed")).toBe("true");
    await fake.settle();
    await click(page.getByTestId("texts-clear"));
    expect(fake.sent("find").at(-1)).toEqual({ kind: "find", show: "refused", verdict: "any", guardrail: null, search: "" });
  });

  it("T2.2: shows what other guardrails changed, where there is something to compare with", async () => {
    const { page, fake } = await showTexts();
    expect(page.queryByTestId("texts-changes")).toBeNull();
    const counts = { ...fake.state.counts, newly_refused: 0, newly_passing: 12, mended: 1, missed: 2 };
    await fake.push({ counts });
    expect(page.getByTestId("texts-changes").textContent).toBe(
      "Against the run before:0 newly refused12 newly passing1 false alarm passes now2 blocked texts pass now",
    );
    await click(page.getByTestId("texts-missed"));
    expect(fake.sent("find").at(-1)?.show).toBe("missed");
  });

  it("asks one find at a time, and then the newest", async () => {
    const { fake, page } = await showTexts();
    const before = fake.sent("find").length;
    await click(page.getByTestId("texts-count-no promises-allow"));
    await click(page.getByTestId("texts-count-short-undecided"));
    await click(page.getByTestId("texts-count--undecided"));
    expect(fake.sent("find")).toHaveLength(before + 1);
    await fake.settle();
    expect(fake.sent("find")).toHaveLength(before + 2);
    expect(fake.sent("find").at(-1)?.guardrail).toBeNull();
  });

  it("keeps the selection when the list is asked for anew, and takes the first where it is gone", async () => {
    const { fake, page, shown, list } = await showTexts();
    await press(list(), "j");
    await fake.settle();
    await fake.push({ results: fake.state.results + 1 });
    await fake.settle();
    expect(shown()).toBe("1");
    fake.marks[1] = "block";
    await click(page.getByTestId("texts-count--undecided"));
    await fake.settle();
    expect(shown()).toBe("0");
  });

  it("says why nothing is listed", async () => {
    const none = await showTexts([]);
    expect(none.page.getByTestId("texts-empty").textContent).toBe("There are no texts.");
    const unchecked = await showTexts([], { total: 3 });
    expect(unchecked.page.getByTestId("texts-empty").textContent).toBe("Nothing is checked yet: run the guardrails.");
    const clean = await showTexts([], { total: 3, checked: 3 });
    expect(clean.page.getByTestId("texts-empty").textContent).toBe("Nothing is refused.");
  });
});
