import { describe, expect, it } from "vitest";
import { readSession } from "../../support/fixture";
import { click, press, show } from "../../support/show";

const node = (page: { getByTestId(id: string): HTMLElement }, id: string) => page.getByTestId(`node-${id}`) as unknown as SVGGElement;

describe("the graph", () => {
  it("W3.3: shows status, held and waiting tasks and breakpoints, in words and in signs", async () => {
    const { page } = await show();
    const model = node(page, "release/model");
    expect(model.getAttribute("aria-label")).toBe("model (release/model), held, 1 held, holds after");
    expect(model.querySelector("[data-mark=after]")?.getAttribute("data-hold")).toBe("on");
    expect(model.querySelector("[data-mark=before]")?.getAttribute("data-hold")).toBe("off");
    expect(page.getByTestId("held-release/model").textContent).toBe("1");
    expect(page.getByTestId("held-release/call-tool").textContent).toBe("3");
    expect(page.queryByTestId("held-input")).toBeNull();
    expect(node(page, "input").querySelector(".llm4s-node-sign")).not.toBeNull();
    expect(node(page, "release/finish").querySelector(".llm4s-node-sign")).toBeNull();
  });

  it("W3.1: draws static edges, routes and what was taken apart", async () => {
    const { page } = await show();
    const edges = [...page.getByTestId("graph").querySelectorAll<SVGPathElement>("[data-edge]")];
    expect(edges).toHaveLength(5);
    expect(edges.filter((one) => one.dataset.taken === "true").map((one) => one.dataset.edge)).toEqual([
      '["input","release/model"]',
      '["release/model","release/call-tool"]',
      '["release/call-tool","release/collect"]',
      '["release/collect","release/model"]',
    ]);
    for (const one of edges) expect(one.getAttribute("d")).toMatch(/^M[-\d.]+,/);
  });

  it("W3.2: a click opens the two switches, and each sends its own request", async () => {
    const { fake, page } = await show();
    await click(node(page, "release/model"));
    expect(page.getByTestId("hold-before").getAttribute("aria-checked")).toBe("false");
    expect(page.getByTestId("hold-after").getAttribute("aria-checked")).toBe("true");
    await click(page.getByTestId("hold-before"));
    await click(page.getByTestId("hold-after"));
    expect(fake.sent("set_hold")).toEqual([
      { kind: "set_hold", node: "release/model", phase: "BEFORE", on: true },
      { kind: "set_hold", node: "release/model", phase: "AFTER", on: false },
    ]);
  });

  it("F19: says of a hold after a node that its routes stand, whatever is edited meanwhile", async () => {
    const { page } = await show();
    await click(node(page, "release/model"));
    expect(page.getByTestId("hold-after").getAttribute("aria-checked")).toBe("true");
    expect(page.getByTestId("routes-stand").textContent).toBe(
      "A task held after it ran goes on where it said it would; editing the state meanwhile does not change that.",
    );
    await click(node(page, "release/call-tool"));
    expect(page.getByTestId("hold-after").getAttribute("aria-checked")).toBe("false");
    expect(page.queryByTestId("routes-stand")).toBeNull();
  });

  it("a fixed breakpoint is shown and cannot be switched", async () => {
    const { fake, page } = await show();
    await click(node(page, "release/call-tool"));
    const before = page.getByTestId("hold-before") as HTMLButtonElement;
    expect(before.getAttribute("aria-checked")).toBe("true");
    expect(before.disabled).toBe(true);
    expect(before.textContent).toContain("fixed");
    await click(before);
    expect(fake.sent("set_hold")).toEqual([]);
    expect(node(page, "release/call-tool").querySelector("[data-mark=before]")?.getAttribute("data-hold")).toBe("fixed");
  });

  it("W3.2: says that a switch applies from the next run while one is running", async () => {
    const { page, fake } = await show();
    expect(page.queryByTestId("holds-next")).toBeNull();
    await fake.push({ holds_apply_next_run: true });
    expect(page.getByTestId("holds-next").textContent).toContain("from the next run or resume");
  });

  it("W3.3: a node's pending cards lead to the cards", async () => {
    const { page } = await show();
    await click(node(page, "release/call-tool"));
    const links = [...page.getByTestId("node-detail").querySelectorAll<HTMLElement>("li button")];
    expect(links.map((link) => link.textContent)).toEqual([
      "Go to: deploy wants your approval",
      "Go to: notify wants your approval",
      "Go to: confirm_window asks",
    ]);
    await click(links[1] as HTMLElement);
    expect(document.activeElement).toBe(page.getByTestId("card-2.1"));
  });

  it("unfolds the review steps of a step", async () => {
    const { page } = await show();
    await click(node(page, "release/call-tool"));
    expect(page.queryByTestId("node-release/approval")).toBeNull();
    await click(page.getByTestId("unfold"));
    await click(node(page, "release/approval"));
    expect(page.getByTestId("node-detail").textContent).toContain("is held through that step");
    expect(page.queryByTestId("hold-before")).toBeNull();
  });

  it("a changed status moves nothing", async () => {
    const { page, fake } = await show();
    const before = page.getByTestId("graph").querySelector("svg")?.getAttribute("viewBox");
    const at = node(page, "release/model").querySelector("rect")?.getAttribute("x");
    const graph = fake.state.graph;
    await fake.push({ graph: { ...graph, nodes: graph.nodes.map((one) => ({ ...one, status: "done" as const, held: 0, waiting: 0 })) } });
    expect(page.getByTestId("graph").querySelector("svg")?.getAttribute("viewBox")).toBe(before);
    expect(node(page, "release/model").querySelector("rect")?.getAttribute("x")).toBe(at);
    expect(node(page, "release/model").dataset.status).toBe("done");
  });
});

describe("by keyboard", () => {
  it("Tab reaches one node; arrows move, Enter opens, Escape closes and gives the focus back", async () => {
    const { page } = await show();
    const reachable = () =>
      [...page.getByTestId("graph").querySelectorAll<SVGGElement>("[data-node]")]
        .filter((one) => one.getAttribute("tabindex") === "0")
        .map((one) => one.dataset.node);
    expect(reachable()).toEqual(["input"]);
    node(page, "input").focus();
    await press(node(page, "input"), "ArrowDown");
    expect(document.activeElement).toBe(node(page, "release/model"));
    expect(reachable()).toEqual(["release/model"]);
    await press(node(page, "release/model"), "Enter");
    expect(node(page, "release/model").getAttribute("aria-expanded")).toBe("true");
    page.getByTestId("hold-after").focus();
    await press(page.getByTestId("hold-after"), "Escape");
    expect(page.queryByTestId("node-detail")).toBeNull();
    expect(document.activeElement).toBe(node(page, "release/model"));
    await press(node(page, "release/model"), "End");
    expect(document.activeElement).toBe(node(page, "release/finish"));
    await press(node(page, "release/finish"), "Home");
    expect(document.activeElement).toBe(node(page, "input"));
  });

  it("+ and − zoom by steps", async () => {
    const { page } = await show();
    const width = () => Number(page.getByTestId("graph").querySelector("svg")?.getAttribute("width"));
    const full = width();
    await press(node(page, "input"), "-");
    expect(width()).toBeCloseTo(full * 0.8);
    await press(node(page, "input"), "+");
    await press(node(page, "input"), "+");
    expect(width()).toBeCloseTo(full * 1.25);
    await click(page.getByLabelText(/back to 100 %/));
    expect(width()).toBeCloseTo(full);
  });
});

it("F36: every name is drawn, clickable and said", async () => {
  const base = readSession().graph;
  const ids = ["end", "a b", "é", "<x>", "x".repeat(80), "👩‍🚀", "مرحبا"];
  const one = base.nodes[0];
  if (one === undefined) throw new Error("no node");
  const nodes = ids.map((id) => ({ ...one, id, label: id, can_hold: true, interrupts: [] }));
  const edges = ids.slice(1).map((id) => ({ source: "end", target: id, kind: "static" as const, taken: false }));
  const { fake, page } = await show({ graph: { ...base, topology: "names", entry: "end", nodes, edges } });
  for (const id of ids) {
    await click(node(page, id));
    expect(page.getByTestId("node-detail").querySelector(".llm4s-detail-title")?.textContent).toBe(id);
    await click(page.getByTestId("hold-before"));
  }
  expect(fake.sent("set_hold").map((body) => body.node)).toEqual(ids);
  expect(page.getByTestId("graph").querySelector("x")).toBeNull();
});
