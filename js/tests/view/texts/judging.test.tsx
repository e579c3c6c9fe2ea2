import axe from "axe-core";
import { describe, expect, it, vi } from "vitest";
import { click, press, tick, type } from "../../support/show";
import { SOME, showTexts, viewTexts } from "./show";

const field = (found: HTMLElement) => found as HTMLTextAreaElement;
const decided = (fake: { sent(kind: "decide"): { position: number; verdict: string }[] }) =>
  fake.sent("decide").map(({ position, verdict }) => [position, verdict]);

describe("verdicts by keys (T3.3)", () => {
  it("decides, marks the row at once, and opens the next undecided text", async () => {
    const { fake, list, row, shown } = await showTexts();
    await press(list(), "b");
    expect(row(0)?.dataset.mark).toBe("block");
    await fake.settle();
    expect(shown()).toBe("1");
    await press(list(), "a");
    await fake.settle();
    expect(decided(fake)).toEqual([
      [0, "block"],
      [1, "allow"],
    ]);
    expect(row(1)?.dataset.mark).toBe("allow");
  });

  it.each([
    ["e", "texts-edit"],
    ["n", "texts-note"],
  ])("after %s the field has the focus before the next key, which is then no verdict", async (key, field) => {
    const { fake, page, list } = await showTexts();
    list().focus();
    list().dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve(); // no frame and no event comes in between
    expect(document.activeElement).toBe(page.getByTestId(field));
    await press(document.activeElement as HTMLElement, "a");
    expect(decided(fake)).toEqual([]);
  });

  it("goes round to the texts that were passed over", async () => {
    const { fake, list, shown } = await showTexts();
    await press(list(), "j");
    await press(list(), "j");
    await press(list(), "j");
    await fake.settle();
    await press(list(), "a");
    await fake.settle();
    expect(shown()).toBe("0");
  });

  it("T3.2: decides nothing about a text that has not come yet", async () => {
    const { fake, list } = await showTexts();
    await press(list(), "j");
    await press(list(), "b");
    expect(decided(fake)).toEqual([]);
    await fake.settle();
    await press(list(), "b");
    expect(decided(fake)).toEqual([[1, "block"]]);
  });

  it("decides once for a key that is held down, and lets j run", async () => {
    const { fake, list, shown } = await showTexts();
    await press(list(), "b", { repeat: true });
    expect(decided(fake)).toEqual([]);
    await press(list(), "j", { repeat: true });
    await press(list(), "j", { repeat: true });
    await fake.settle();
    expect(shown()).toBe("2");
  });

  it("puts a refused verdict back and says why", async () => {
    const { fake, list, row, page, shown } = await showTexts();
    fake.refuse = "the log cannot be written";
    await press(list(), "b");
    await fake.settle();
    expect(row(0)?.dataset.mark).toBe("undecided");
    expect(page.getByTestId("refusal").textContent).toContain("the log cannot be written");
    expect(shown()).toBe("0");
  });

  it("takes the last verdict back and shows that text", async () => {
    const { fake, list, shown, page } = await showTexts();
    await press(list(), "b");
    await fake.settle();
    await press(list(), "u");
    await fake.settle();
    expect(shown()).toBe("0");
    expect(page.getByTestId("live").textContent).toBe("taken back");
  });

  it("leaves letters in fields and keys of the browser alone", async () => {
    const { fake, page, list } = await showTexts();
    const search = page.getByTestId("texts-search");
    for (const key of ["a", "b", "u", "?"]) await press(search, key);
    await press(list(), "a", { ctrlKey: true });
    await press(list(), "b", { metaKey: true });
    expect(decided(fake)).toEqual([]);
    expect(fake.sent("undo")).toEqual([]);
    await press(list(), "/");
    expect(document.activeElement).toBe(search);
    await press(search, "Escape");
    expect(document.activeElement).toBe(list());
  });

  it("does nothing about a text that has nothing to decide", async () => {
    const { fake, list, page } = await showTexts(SOME, {}, { settled: false });
    fake.marks.fill("none");
    await fake.settle();
    for (const key of ["a", "b", "e", "n"]) await press(list(), key);
    expect(decided(fake)).toEqual([]);
    expect(page.queryByTestId("allow")).toBeNull();
  });

  it("shows its keys on ?", async () => {
    const { list, page } = await showTexts();
    await press(list(), "?");
    expect(page.getByLabelText("Keys of this review").textContent).toContain("undo the last verdict");
    await press(list(), "?");
    expect(page.queryByLabelText("Keys of this review")).toBeNull();
  });

  it("leaves the keyboard with the list after a click, whatever has gone from the page", async () => {
    const { fake, page, list, row } = await showTexts();
    for (const button of ["allow", "block", "texts-undo"]) {
      page.getByTestId(button).focus();
      await click(page.getByTestId(button));
      expect(document.activeElement, button).toBe(list());
      await fake.settle();
    }
    await click(row(3) as HTMLElement);
    expect(document.activeElement).toBe(list());
    page.getByTestId("edit").focus();
    await press(page.getByTestId("edit"), "k");
    expect(document.activeElement).toBe(list());
    await click(page.getByTestId("texts-count--undecided"));
    await fake.settle();
    page.getByTestId("texts-clear").focus();
    await click(page.getByTestId("texts-clear"));
    expect(document.activeElement).toBe(page.getByTestId("texts"));
  });

  it("takes a double click as one verdict", async () => {
    const { fake, page } = await showTexts();
    await click(page.getByTestId("allow"));
    await fake.settle();
    page.getByTestId("allow").dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 2 }));
    expect(decided(fake)).toEqual([[0, "allow"]]);
  });
});

describe("edits and notes", () => {
  it("T3.3: edits with a diff, saves on Ctrl+Enter and gives the keyboard back to the list", async () => {
    const { fake, list, page } = await showTexts();
    await press(list(), "e");
    const edit = field(page.getByTestId("texts-edit"));
    expect(edit.value).toBe("first guaranteed");
    expect((page.getByTestId("texts-save-edit") as HTMLButtonElement).disabled).toBe(true);
    await type(edit, "first hoped for");
    expect(page.getByLabelText("Changes to the text").textContent).toContain("hoped for");
    await press(edit, "Enter");
    expect(fake.sent("decide")).toEqual([]);
    await press(edit, "Enter", { ctrlKey: true });
    expect(fake.sent("decide")).toEqual([{ kind: "decide", position: 0, verdict: "edit", text: "first hoped for", note: null }]);
    expect(document.activeElement).toBe(list());
  });

  it.each(["", "  \n", "first guaranteed"])("T2.1: saves no edit that says nothing: %j", async (text) => {
    const { fake, list, page } = await showTexts();
    await press(list(), "e");
    const edit = page.getByTestId("texts-edit");
    await type(edit, text);
    await press(edit, "Enter", { ctrlKey: true });
    expect(fake.sent("decide")).toEqual([]);
  });

  it("sends a note with the verdict that follows", async () => {
    const { fake, list, page } = await showTexts();
    await press(list(), "n");
    await type(page.getByTestId("texts-note"), "a quote of the law");
    await press(page.getByTestId("texts-note"), "Escape");
    await press(list(), "a");
    expect(fake.sent("decide")).toEqual([{ kind: "decide", position: 0, verdict: "allow", text: null, note: "a quote of the law" }]);
  });

  it("saves a note on a decided text with its verdict", async () => {
    const { fake, list, page } = await showTexts(["a"], {}, { settled: false });
    fake.marks[0] = "block";
    await fake.settle();
    await press(list(), "n");
    const note = field(page.getByTestId("texts-note"));
    expect(note.value).toBe("as given");
    await type(note, "better");
    await press(note, "Enter", { ctrlKey: true });
    expect(fake.sent("decide")).toEqual([{ kind: "decide", position: 0, verdict: "block", text: null, note: "better" }]);
  });

  it("T3.4: keeps what is half typed through other texts, another view, and a verdict elsewhere", async () => {
    vi.useFakeTimers();
    const { fake, list, page } = await showTexts();
    await press(list(), "e");
    await type(page.getByTestId("texts-edit"), "first hal");
    await press(list(), "j");
    await fake.settle();
    await press(list(), "b");
    await fake.settle();
    await press(list(), "k");
    await press(list(), "k");
    await fake.settle();
    expect(field(page.getByTestId("texts-edit")).value).toBe("first hal");
    await tick(400);
    const draft = { edit: "first hal", note: null, editing: true, noting: false };
    expect(fake.sent("save_draft").at(-1)).toEqual({ kind: "save_draft", id: "0", draft });
    const other = await viewTexts(fake);
    await fake.settle();
    await fake.say({ kind: "drafts", origin: null, drafts: { "0": draft } });
    await click(other.row(0) as HTMLElement);
    await fake.settle();
    expect(field(other.page.getByTestId("texts-edit")).value).toBe("first hal");
  });
});

describe("the head (T1.3)", () => {
  it("shows how far a run is and stops it", async () => {
    const { fake, page } = await showTexts(SOME, { running: true, total: 10_000, checked: 4210, per_second: 951.4 });
    expect(page.getByTestId("texts-progress").textContent).toBe("4,210 of 10,000 texts checked · 951 texts/s");
    await click(page.getByTestId("texts-cancel"));
    expect(fake.sent("cancel")).toHaveLength(1);
    await fake.push({ cancelling: true });
    expect((page.getByTestId("texts-cancel") as HTMLButtonElement).disabled).toBe(true);
    await fake.push({ cancelling: false, running: false });
    expect(page.getByTestId("texts-run").textContent).toBe("Go on");
    await click(page.getByTestId("texts-run"));
    expect(fake.sent("run")).toEqual([{ kind: "run", again: false }]);
  });

  it("asks for everything anew where everything is checked, and whether that is meant", async () => {
    const { fake, page } = await showTexts();
    await click(page.getByTestId("texts-run"));
    expect(fake.sent("run")).toEqual([]);
    expect(page.getByTestId("texts-run").textContent).toBe("Check all 4 texts anew");
    await click(page.getByTestId("texts-run"));
    expect(fake.sent("run")).toEqual([{ kind: "run", again: true }]);
  });

  it("lists what a run refuses as it goes", async () => {
    const { fake, page } = await showTexts([], { running: true, total: 10, checked: 0 });
    (fake.texts as string[]).push("guaranteed");
    fake.marks.push("undecided");
    await fake.push({ results: fake.state.results + 1, checked: 1 });
    await fake.settle();
    expect(page.getAllByTestId("texts-row")).toHaveLength(1);
  });
});

describe("other views and hostile texts", () => {
  it("W1.2: marks what was decided elsewhere, and opens it anew where it is open", async () => {
    const { fake, row, page } = await showTexts();
    fake.marks[0] = "block";
    await fake.say({ kind: "marks", positions: [0, 2], mark: "block" });
    expect([row(0)?.dataset.mark, row(2)?.dataset.mark]).toEqual(["block", "block"]);
    await fake.settle();
    expect(page.getByTestId("texts-verdict").textContent).toContain("blocked");
  });

  it.each([null, "x", { kind: "found" }, { kind: "marks", positions: ["0"], mark: "block" }, { kind: "opened", request_id: "r" }])(
    "takes no notice of %j",
    async (message) => {
      const { fake, row } = await showTexts();
      await fake.say(message);
      expect(row(0)?.dataset.mark).toBe("undecided");
    },
  );

  it("W5.7: shows script, reading order and long lines as data", async () => {
    const { el, page } = await showTexts([`<img src=x onerror=alert(1)> \u202e\u200b ${"x".repeat(100_000)}`]);
    expect(el.querySelector("img")).toBeNull();
    const text = () => page.getByLabelText("The text").textContent ?? "";
    expect(text().slice(0, 50)).toMatch(/^<img src=x onerror=alert\(1\)> U\+202E ?U\+200B/);
    expect(text()).toContain("20,000 of 100,0");
    await click(page.getByTestId("show-more"));
    expect(text().length).toBeGreaterThan(100_000);
  });

  it("is operable by name and role", async () => {
    const { el, list, fake } = await showTexts();
    await press(list(), "e");
    await press(list(), "n");
    await press(list(), "?");
    await fake.settle();
    const { violations } = await axe.run(el, { rules: { region: { enabled: false }, "color-contrast": { enabled: false } } });
    expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
  });

  it("says that nobody is there, and decides nothing", async () => {
    vi.useFakeTimers();
    const { fake, page, list } = await showTexts(SOME, {}, { settled: false });
    await fake.settle();
    await tick(20_000);
    await press(list(), "b");
    await tick(40_000);
    expect(page.getByTestId("connection").dataset.connection).toBe("lost");
    const before = fake.sent("decide").length;
    await press(list(), "a");
    expect(fake.sent("decide")).toHaveLength(before);
    expect((page.getByTestId("texts-run") as HTMLButtonElement).disabled).toBe(true);
  });
});
