import { act } from "@testing-library/preact";
import { describe, expect, it, vi } from "vitest";
import { DRAWN, Heights, piecesOf, startFor, WHOLE } from "../../../src/view/cards/window";
import panelWidget from "../../../src/widgets/review_panel";
import { FakeModel } from "../../support/fake_model";
import { readSession } from "../../support/fixture";
import { manyPending } from "../../support/many";
import { click, press, show, tick, type, view } from "../../support/show";

// A page without layout draws slowly, and other test files run beside this one.
vi.setConfig({ testTimeout: 30_000 });

/** What the DOM may hold of a list however long it is. */
const AT_MOST = 60;
const drawn = (panel: HTMLElement) => [...panel.querySelectorAll<HTMLElement>("[data-card]")].map((card) => card.dataset.card ?? "");
const thousand = () => show(manyPending(1000), {}, panelWidget);

async function scroll(panel: HTMLElement, top: number) {
  const box = panel.querySelector<HTMLElement>(".llm4s-list") as HTMLElement;
  await act(() => {
    box.scrollTop = top;
    box.dispatchEvent(new Event("scroll"));
  });
}

describe("a thousand things that wait, in one panel (W2.1, W2.12)", () => {
  it("are counted and named right, and at most sixty of them are in the page", async () => {
    const { page } = await thousand();
    const panel = page.getByTestId("panel");
    expect(drawn(panel).length).toBe(DRAWN);
    expect([...panel.querySelectorAll(".llm4s-group-head")].map((head) => head.textContent)).toEqual([
      "Approvals 600",
      "Questions from tools 100",
      "Questions from middleware 200",
      "Breakpoints 100",
    ]);
    expect(panel.querySelector(".llm4s-heading")?.textContent).toBe("Waiting for you 1000");
    const first = page.getByTestId("card-9.0");
    expect([first.getAttribute("aria-posinset"), first.getAttribute("aria-setsize")]).toEqual(["1", "600"]);
    expect(first.closest("[role=feed]")?.getAttribute("aria-label")).toBe("Approvals");
  });

  it("come and go as the list is scrolled, in their places", async () => {
    const { page } = await thousand();
    const panel = page.getByTestId("panel");
    for (const top of [3000, 60_000, 178_000, 90_000, 0]) {
      await scroll(panel, top);
      expect(drawn(panel).length).toBeLessThanOrEqual(AT_MOST);
    }
    await scroll(panel, 178_000);
    expect(drawn(panel).at(-1)).toBe("9.999");
    const last = page.getByTestId("card-9.999");
    expect([last.getAttribute("aria-posinset"), last.getAttribute("aria-setsize")]).toEqual(["100", "100"]);
  });

  it("are reached by j one after another past the end of what is drawn, and by k from the end of all", async () => {
    const { page } = await thousand();
    const panel = page.getByTestId("panel");
    const approvals = manyPending(1000).pending.filter((card) => card.kind === "APPROVAL");
    let here = panel;
    for (const { id } of approvals.slice(0, 2 * DRAWN)) {
      await press(here, "j");
      here = document.activeElement as HTMLElement;
      expect([here.dataset.card, drawn(panel).length <= AT_MOST]).toEqual([id, true]);
    }
    panel.focus();
    await press(panel, "k");
    here = document.activeElement as HTMLElement;
    expect(here).toBe(page.getByTestId("card-9.999"));
    await press(here, "j");
    expect(document.activeElement).toBe(here);
    await press(here, "k");
    expect(document.activeElement).toBe(page.getByTestId("card-9.989"));
  });

  it("a card that is not drawn is found by its id, from the graph too", async () => {
    const many = manyPending(1000);
    const nodes = many.graph.nodes.map((node) => (node.id === "release/call-tool" ? { ...node, interrupts: ["9.777"] } : node));
    const { page } = await show({ ...many, graph: { ...many.graph, nodes } });
    await click(page.getByTestId("node-release/call-tool"));
    await click(page.getByTestId("node-detail").querySelectorAll("li button")[0] as HTMLElement);
    expect(document.activeElement).toBe(page.getByTestId("card-9.777"));
    expect(drawn(page.getByTestId("panel")).length).toBeLessThanOrEqual(AT_MOST);
  });

  it("the card one types in stays, with the focus, however far the list is scrolled", async () => {
    const { page, card } = await thousand();
    await press(page.getByTestId("card-9.1"), "r");
    const field = card("9.1").getByTestId("reject-reason");
    field.focus();
    await type(field, "not yet");
    await scroll(page.getByTestId("panel"), 120_000);
    expect(document.activeElement).toBe(field);
    expect((field as HTMLTextAreaElement).value).toBe("not yet");
    expect(drawn(page.getByTestId("panel")).length).toBe(DRAWN + 1);
  });

  it("typing on one card draws no other anew", async () => {
    const { page, card } = await thousand();
    await press(page.getByTestId("card-9.1"), "r");
    const changes: Node[] = [];
    const observer = new MutationObserver((records) => changes.push(...records.map((record) => record.target)));
    observer.observe(page.getByTestId("card-list"), { subtree: true, childList: true, attributes: true, characterData: true });
    await type(card("9.1").getByTestId("reject-reason"), "because");
    await Promise.resolve();
    observer.disconnect();
    expect(changes.filter((node) => !page.getByTestId("card-9.1").contains(node))).toEqual([]);
  });

  it("W2.6: approving all asks once, names the number, and is one submit of exactly what was shown", async () => {
    vi.useFakeTimers();
    const { fake, page } = await thousand();
    await click(page.getByTestId("approve-all"));
    expect(page.getByTestId("confirm").textContent).toBe("Approve 600");
    expect(page.getByRole("alertdialog").textContent).toContain("and 588 more");
    const [deploy] = readSession().pending;
    await fake.push({ pending: [...fake.state.pending, { ...deploy, id: "late" } as never] });
    await tick(1000);
    await click(page.getByTestId("confirm"));
    const submits = fake.sent("submit");
    expect(submits).toHaveLength(1);
    expect(submits[0]?.decisions).toHaveLength(600);
    expect(submits[0]?.decisions.some((decision) => decision.id === "late")).toBe(false);
    await tick(2000);
    expect(fake.sent("submit")).toHaveLength(1);
  });

  it("W2.6: a decision of another kind for each of them goes as one submit too", async () => {
    const { fake, page } = await thousand();
    const drafts = Object.fromEntries(
      fake.state.pending.map((card) => [
        card.id,
        card.kind === "BREAKPOINT"
          ? { decision: "proceed", chosen: true }
          : card.kind === "APPROVAL"
            ? { decision: "reject", chosen: true }
            : card.guardrail !== null
              ? { decision: "block", chosen: true }
              : {
                  decision: "reply",
                  value: card.kind === "QUESTION" ? { start: "2026-12-01T22:00:00Z", silent: false } : { value: "eu" },
                  chosen: true,
                },
      ]),
    );
    const regions = fake.state.pending.filter((card) => card.kind === "MIDDLEWARE_QUESTION" && card.guardrail === null);
    await fake.message({ kind: "drafts", origin: null, drafts });
    expect(page.getByTestId("submit-all").textContent).toBe("Submit 1000 decisions");
    expect(regions).toHaveLength(100);
    await click(page.getByTestId("submit-all"));
    expect(fake.sent("submit").map((body) => body.decisions.length)).toEqual([1000]);
  });

  it("W2.10: answering one after another keeps the focus on the next, also where the window ends", async () => {
    vi.useFakeTimers();
    const { fake, page } = await thousand();
    const panel = page.getByTestId("panel");
    await fake.push({ pending: fake.state.pending.filter((card) => card.kind === "APPROVAL") });
    await tick(400);
    // At the first card, and at the last that is drawn: what follows that one is not in the page until it has left.
    for (const at of [0, DRAWN - 1]) {
      page.getByTestId(`card-${drawn(panel)[at]}`).focus();
      for (let count = 0; count < 3; count += 1) {
        const here = fake.state.pending[at];
        expect((document.activeElement as HTMLElement).dataset.card).toBe(here?.id);
        expect(drawn(panel).at(-1)).toBe(fake.state.pending[DRAWN - 1]?.id);
        await fake.push({ pending: fake.state.pending.filter((card) => card !== here) });
        await tick(400);
        expect(drawn(panel).length).toBeLessThanOrEqual(AT_MOST);
      }
      expect((document.activeElement as HTMLElement).dataset.card).toBe(fake.state.pending[at]?.id);
    }
  });
});

describe("the window of a long list (W2.12)", () => {
  const ids = Array.from({ length: 300 }, (_, index) => `c${index}`);

  it("a short list is drawn whole", () => {
    expect(piecesOf(ids.slice(0, WHOLE), 0, WHOLE, 20, []).every((piece) => "index" in piece)).toBe(true);
  });

  it("room for what is not drawn is as high as its cards are, known or guessed from those that are", () => {
    const heights = new Heights();
    expect(heights.together(ids.slice(0, 2))).toBe(170 + 8 + 170);
    heights.note("c0", 100);
    heights.note("c1", 300);
    heights.note("c1", 200);
    heights.note("c2", 0);
    expect(heights.together(["c0", "c1", "c9"])).toBe(100 + 8 + 200 + 8 + 150);
    expect(heights.at(["c0", "c1", "c9"], 107)).toBe(0);
    expect(heights.at(["c0", "c1", "c9"], 108)).toBe(1);
    expect(heights.at(["c0", "c1", "c9"], 9999)).toBe(2);
  });

  it("draws the window and whoever must not go, each once and in order", () => {
    const pieces = piecesOf(ids, 0, 300, 100, ["c5", "c110", null]);
    const indexes = pieces.flatMap((piece) => ("index" in piece ? [piece.index] : []));
    expect(indexes).toEqual([5, ...Array.from({ length: DRAWN }, (_, index) => 100 + index)]);
    const gaps = pieces.flatMap((piece) => ("gap" in piece ? [piece.gap.length] : []));
    expect(gaps).toEqual([5, 94, 300 - 100 - DRAWN]);
  });

  it("moves when the person has gone far enough, and always at the ends", () => {
    expect(startFor(0, 0, 300)).toBe(0);
    expect(startFor(7, 0, 300)).toBe(0);
    expect(startFor(9, 0, 300)).toBe(3);
    expect(startFor(1, 2, 300)).toBe(0);
    expect(startFor(299, 274, 300)).toBe(300 - DRAWN);
  });
});

describe("ten views of one session (W1.2)", () => {
  it("show the same document and drafts, each with ids of its own, and one answer leaves all of them", async () => {
    const fake = new FakeModel(readSession());
    const views = [];
    for (let count = 0; count < 10; count += 1) views.push(await view(fake, { widget: panelWidget }));
    const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
    expect(new Set(ids).size).toBe(ids.length);
    await fake.message({ kind: "drafts", origin: null, drafts: { "2.1": { decision: "reject", reason: "shared" } } });
    for (const { card } of views) expect((card("2.1").getByTestId("reject-reason") as HTMLTextAreaElement).value).toBe("shared");
    await click((views[3] as (typeof views)[0]).card("2.0").getByTestId("approve"));
    expect(fake.sent("submit")).toHaveLength(1);
    await fake.push({ pending: fake.state.pending.slice(1) });
    for (const { page } of views) expect(page.queryByTestId("card-2.0")).toBeNull();
    for (const { cleanup } of views) await cleanup();
    expect([...fake.listeners.values()].every((listeners) => listeners.size === 0)).toBe(true);
  });
});
