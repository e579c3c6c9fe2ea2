import { act } from "@testing-library/preact";
import axe from "axe-core";
import { describe, expect, it, vi } from "vitest";
import panelWidget from "../../src/widgets/review_panel";
import type { SessionState } from "../../src/wire/index";
import { readSession } from "../support/fixture";
import { click, press, show, tick, type } from "../support/show";

type Shown = Awaited<ReturnType<typeof show>>;

async function open({ page }: Shown) {
  const box = page.getByTestId("agent-editor") as HTMLDetailsElement;
  await act(() => {
    box.open = true;
    box.dispatchEvent(new Event("toggle"));
  });
}

const prompt = ({ page }: Shown) => page.getByLabelText("system_prompt", { exact: true }) as HTMLTextAreaElement;
const button = ({ page }: Shown, testid: string) => page.getByTestId(testid) as HTMLButtonElement;

describe("prompt and options (W4.5)", () => {
  it("is one closed line, and opens to a form of what holds now", async () => {
    const shown = await show(readSession("new"));
    expect(shown.page.getByTestId("agent-editor").textContent).toBe("Prompt and options");
    await open(shown);
    expect(prompt(shown).value).toBe("You release software.\nAsk before you deploy to production.");
    expect((shown.page.getByLabelText("temperature") as HTMLInputElement).value).toBe("0.2");
    expect(button(shown, "apply").disabled).toBe(true);
    expect(shown.page.queryByTestId("copy-agent")).toBeNull();
  });

  it("shows what an edit changes, applies the whole form, and closes when the kernel has taken it", async () => {
    const shown = await show(readSession("new"));
    await open(shown);
    await type(prompt(shown), "Release it.");
    expect(shown.page.getByTestId("diff").textContent).toContain("YouRelease");
    expect(shown.page.getByTestId("agent-editor").querySelector("summary")?.textContent).toBe("Prompt and options · not applied yet");
    await click(button(shown, "apply"));
    expect(shown.fake.sent("change_agent")).toEqual([
      { kind: "change_agent", agent: "release", value: { system_prompt: "Release it.", options: { temperature: 0.2 } } },
    ]);
    await shown.fake.done("change_agent", "applied");
    const box = shown.page.getByTestId("agent-editor") as HTMLDetailsElement;
    expect(box.textContent).toBe("Prompt and options");
    expect(document.activeElement).toBe(box.querySelector("summary"));
    expect(shown.page.getByTestId("live").textContent).toBe("applied");
  });

  it("puts the kernel's problems on their fields and keeps what was typed, also when the document changes", async () => {
    const shown = await show(readSession("new"));
    await open(shown);
    await type(prompt(shown), "Release it.");
    await click(button(shown, "apply"));
    const error = { type: "FormRefused", what: "options.temperature: too hot", where: "in the form", next_step: "correct it", at_ms: 0 };
    const problem = { interrupt_id: "agent:release", path: ["options", "temperature"], code: "invalid", message: "too hot" };
    const problems = [{ ...problem, answered_at_ms: null, answered_by: null }];
    await shown.fake.message({ kind: "refused", request_id: shown.fake.lastId("change_agent"), error, problems });
    await shown.fake.push({ notice: "something else" });
    expect(shown.page.getAllByTestId("problem").map((one) => one.textContent)).toEqual(["too hot"]);
    expect(shown.page.getByLabelText("temperature").getAttribute("aria-invalid")).toBe("true");
    expect(prompt(shown).value).toBe("Release it.");
  });

  it("applies by Ctrl+Enter, and a plain Enter is a new line", async () => {
    const shown = await show(readSession("new"));
    await open(shown);
    await press(prompt(shown), "Enter", { ctrlKey: true });
    expect(shown.fake.sent("change_agent")).toEqual([]);
    await type(prompt(shown), "Release it.");
    await press(prompt(shown), "Enter");
    expect(shown.fake.sent("change_agent")).toEqual([]);
    await press(prompt(shown), "Enter", { ctrlKey: true });
    expect(shown.fake.sent("change_agent")).toHaveLength(1);
  });

  it("checks what a browser can, and sends nothing that is wrong", async () => {
    const shown = await show(readSession("new"));
    await open(shown);
    await type(shown.page.getByLabelText("temperature"), "9");
    await click(button(shown, "apply"));
    expect(shown.page.getByTestId("problem").textContent).toContain("2 or less");
    expect(shown.fake.sent("change_agent")).toEqual([]);
    await act(() => new Promise<void>((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))));
    expect(document.activeElement).toBe(shown.page.getByLabelText("temperature", { exact: true }));
    await click(button(shown, "discard"));
    expect(document.activeElement).toBe(shown.page.getByTestId("agent-editor").querySelector("summary"));
  });

  it("keeps what is begun with the session (W1.4) and takes up what another view has begun", async () => {
    vi.useFakeTimers();
    const shown = await show(readSession("new"));
    await open(shown);
    await type(prompt(shown), "half a pro");
    await tick(400);
    const [saved] = shown.fake.sent("save_draft");
    expect(saved?.id).toBe("agent:release");
    await shown.fake.message({ kind: "done", request_id: shown.fake.lastId("save_draft"), said: "" });
    await shown.fake.message({
      kind: "drafts",
      origin: "other",
      drafts: { "agent:release": { value: { system_prompt: "of the other" } } },
    });
    expect(prompt(shown).value).toBe("of the other");
    await click(button(shown, "discard"));
    expect(prompt(shown).value).toContain("You release software.");
  });

  it("lets a person choose among the agents of a family, each with its own form", async () => {
    const shown = await show(readSession("new"));
    await open(shown);
    await type(prompt(shown), "of release");
    const choice = button(shown, "agent") as unknown as HTMLSelectElement;
    await act(() => {
      choice.value = "support";
      choice.dispatchEvent(new Event("change", { bubbles: true }));
    });
    expect(prompt(shown).value).toBe("");
    expect(shown.page.queryByLabelText("temperature")).toBeNull();
    expect(shown.page.getByTestId("agent-editor").textContent).toContain("ScriptedClient has no options to set here.");
    await type(prompt(shown), "Help.");
    await click(button(shown, "apply"));
    expect(shown.fake.sent("change_agent").at(-1)).toEqual({ kind: "change_agent", agent: "support", value: { system_prompt: "Help." } });
  });

  it("is not there where a view only shows, and not for a graph", async () => {
    const shown = await show(readSession("offered"), { read_only: true });
    expect(shown.page.queryByTestId("agent-editor")).toBeNull();
    expect(shown.page.queryByTestId("offer")).toBeNull();
    const graph = await show({ ...readSession("new"), editor: null });
    expect(graph.page.queryByTestId("agent-editor")).toBeNull();
  });
});

describe("a thread that does not go on with the changed agent (W4.6, D14)", () => {
  it("says why and offers the ways on, by name of the thread that is looked at", async () => {
    const shown = await show(readSession("offered"));
    const offer = shown.page.getByTestId("offer");
    expect(offer.textContent).toContain("waits under another version of the agent (system prompt)");
    const way = button(shown, "new_thread");
    expect(document.getElementById(way.getAttribute("aria-describedby") ?? "")?.textContent).toContain("What waits is not answered");
    await click(way);
    expect(shown.fake.sent("go_on")).toEqual([{ kind: "go_on", way: "new_thread", thread_id: "release-2.4.1" }]);
    expect(way.disabled).toBe(true);
  });

  it("puts the query of the thread that was left into the prompt box, and the focus there", async () => {
    const shown = await show(readSession("offered"));
    await click(button(shown, "new_thread"));
    const fresh = readSession("new");
    const editor = fresh.editor && { ...fresh.editor, suggested: "Release 2.4.1" };
    await shown.fake.push({ ...fresh, thread_id: "thread-2", editor } as SessionState);
    await shown.fake.done("go_on", "on thread thread-2");
    const box = shown.page.getByTestId("prompt") as HTMLTextAreaElement;
    expect(box.value).toBe("Release 2.4.1");
    expect(document.activeElement).toBe(box);
    // Back where it waits nothing can be asked: the suggestion goes, and the focus with it to what waits.
    await shown.fake.push(readSession("offered"));
    expect(shown.page.queryByTestId("prompt")).toBeNull();
    expect(document.activeElement).toBe(shown.page.getByTestId("panel"));
  });

  it("copies the changed agent as code", async () => {
    const shown = await show(readSession("offered"));
    const written = vi.fn((_: string) => Promise.resolve());
    vi.stubGlobal("navigator", { ...navigator, clipboard: { writeText: written } });
    await open(shown);
    await click(button(shown, "copy-agent"));
    expect(written).toHaveBeenCalledWith("agent = agent.with_(\n    system_prompt='Release it.',\n)");
    vi.unstubAllGlobals();
  });

  it("is offered beside the cards alone too", async () => {
    const shown = await show(readSession("offered"), { view: "panel" }, panelWidget);
    await click(button(shown, "old_agent"));
    expect(shown.fake.sent("go_on")).toHaveLength(1);
    expect(shown.page.queryByTestId("agent-editor")).toBeNull();
  });

  it("has no violations of axe", async () => {
    const shown = await show(readSession("offered"));
    await open(shown);
    const found = await axe.run(shown.el, { rules: { region: { enabled: false }, "color-contrast": { enabled: false } } });
    expect(found.violations.map((one) => one.id)).toEqual([]);
  }, 20_000);
});
