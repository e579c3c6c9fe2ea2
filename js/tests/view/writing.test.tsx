import { act } from "@testing-library/preact";
import { describe, expect, it } from "vitest";
import transcriptWidget from "../../src/widgets/transcript";
import type { LiveView, Pieces } from "../../src/wire/index";
import { FakeModel } from "../support/fake_model";
import { readSession } from "../support/fixture";
import { show, view } from "../support/show";

const writing = () => show(readSession("writing"), {}, transcriptWidget);
const LIVE: LiveView = readSession("writing").live;

/** What continues the fixture's message, as piece 4 unless it says otherwise. */
const piece = (text: string, more: Partial<Pieces> = {}, args: string[] = [""]): Pieces => ({
  kind: "live",
  number: 4,
  waiting: null,
  pieces: text === "" && args[0] === "" ? [] : [{ id: "m6", note: "writing …", text, arguments: args }],
  ...more,
});

const written = (el: Element) => el.querySelector<HTMLElement>('[aria-busy="true"]');

describe("what is being written (W4.7)", () => {
  it("is drawn last, as data, with its call's name and arguments so far, and says that it is being written", async () => {
    const { el, page } = await writing();
    const articles = [...page.getByTestId("transcript").querySelectorAll("article")];
    expect(articles.at(-1)).toBe(written(el));
    expect(written(el)?.textContent).toContain("Version 2.4.1 is deployed");
    expect(written(el)?.textContent).toContain("writing …");
    const call = written(el)?.querySelector<HTMLElement>('[data-call="c4"]');
    expect(call?.dataset.state).toBe("writing");
    expect(call?.textContent).toContain('{"channel": "#releases", "te');
  });

  it("grows at its end: the text, and the arguments of the call", async () => {
    const { fake, el } = await writing();
    await fake.message(piece(" <b>soon</b>", {}, ['xt": 1}']));
    expect(written(el)?.textContent).toContain("I tell the others: <b>soon</b>");
    expect(written(el)?.querySelector("b")).toBeNull();
    expect(written(el)?.textContent).toContain('"te' + 'xt": 1}');
  });

  it("is the same in a view that is opened in the middle of it: hello brings it (W1.2)", async () => {
    const fake = new FakeModel(readSession("writing"));
    const first = await view(fake, { widget: transcriptWidget });
    await fake.message(piece(" one"));
    // what the model holds is the last document; the pieces since then are in the reply to hello
    const live = { ...LIVE, number: 4, messages: LIVE.messages.map((one) => ({ ...one, text: `${one.text} one` })) };
    const second = await view(fake, { widget: transcriptWidget, greeted: false });
    await fake.message({ kind: "welcome", request_id: fake.lastId("hello"), revision: 7, drafts: {}, live });
    await fake.message(piece(" two", { number: 5 }));
    for (const { el } of [first, second]) expect(written(el)?.textContent).toContain("others: one two");
    expect(fake.sent("hello")).toHaveLength(2);
  });

  it("takes no piece twice, and asks for the whole once where one is missing", async () => {
    const { fake, el } = await writing();
    await fake.message(piece(" one"));
    await fake.message(piece(" one"));
    await fake.message(piece(" three", { number: 6 }));
    await fake.message(piece(" four", { number: 7 }));
    expect(written(el)?.textContent).toContain("others: one");
    expect(written(el)?.textContent).not.toMatch(/one one|three|four/);
    expect(fake.sent("hello")).toHaveLength(2);
    const whole = { number: 7, waiting: null, messages: LIVE.messages.map((one) => ({ ...one, text: "one two three four" })) };
    await fake.message({ kind: "welcome", request_id: fake.lastId("hello"), revision: 7, drafts: {}, live: whole });
    expect(written(el)?.textContent).toContain("one two three four");
  });

  it("is replaced by the stored message in one step: the same elements, never both", async () => {
    const { fake, el, page } = await writing();
    const article = written(el);
    const message = { ...(LIVE.messages[0] as (typeof LIVE.messages)[0]), text: "As it was stored.", tool_calls: [], note: "1.0 s" };
    await fake.push({ messages: [...fake.state.messages, message], live: { number: 5, waiting: null, messages: [] } });
    expect(written(el)).toBeNull();
    const last = [...page.getByTestId("transcript").querySelectorAll("article")].at(-1);
    expect(last).toBe(article);
    expect(last?.textContent).toContain("As it was stored.");
    expect(last?.textContent).toContain("1.0 s");
    expect(page.getByTestId("transcript").textContent).not.toContain("Version 2.4.1 is deployed. Now");
  });

  it("is gone when the document says so", async () => {
    const { fake, el } = await writing();
    await fake.push({ live: { number: 4, waiting: null, messages: [] } });
    expect(written(el)).toBeNull();
  });

  it("of a million letters is cut, and says how long it is by now", async () => {
    const { fake, el } = await writing();
    for (let number = 4; number < 24; number += 1) await fake.message(piece("x".repeat(50_000), { number }));
    expect((written(el)?.textContent ?? "").length).toBeLessThan(21_000);
    expect(written(el)?.querySelector(".llm4s-cut")?.textContent).toContain("20,000 of 1,000,0");
  });

  it("leaves the messages that are stored alone: no element of theirs is touched for a piece", async () => {
    const { fake, page } = await writing();
    const changes: MutationRecord[] = [];
    const observer = new MutationObserver((records) => changes.push(...records));
    observer.observe(page.getByTestId("transcript"), { subtree: true, childList: true, characterData: true, attributes: true });
    await fake.message(piece(" more"));
    await act(() => Promise.resolve());
    observer.disconnect();
    expect(changes.length).toBeGreaterThan(0);
    const outside = changes.filter(
      ({ target }) => (target instanceof Element ? target : target.parentElement)?.closest("[aria-busy]") === null,
    );
    expect(outside).toEqual([]);
  });
});

describe("the end of the transcript", () => {
  const sized = (box: HTMLElement, top: number) => {
    Object.defineProperty(box, "scrollHeight", { value: 1000, configurable: true });
    Object.defineProperty(box, "clientHeight", { value: 300, configurable: true });
    box.scrollTop = top;
  };

  const scrolled = (box: HTMLElement) =>
    act(() => {
      box.dispatchEvent(new Event("scroll"));
    });

  it("is followed while somebody is there, and not when they have gone up to read", async () => {
    const { fake, el } = await writing();
    const box = el.querySelector<HTMLElement>(".llm4s-messages") as HTMLElement;
    sized(box, 700);
    await scrolled(box);
    Object.defineProperty(box, "scrollHeight", { value: 1200, configurable: true });
    await fake.message(piece(" more"));
    expect(box.scrollTop).toBe(1200);
    sized(box, 100);
    await scrolled(box);
    await fake.message(piece(" and more", { number: 5 }));
    expect(box.scrollTop).toBe(100);
  });
});

describe("a silent model (W4.8)", () => {
  it("is named in the status line with what is safe, read out once, and no more when a word comes", async () => {
    const { fake, page } = await show({ ...readSession("running"), live: { number: 0, waiting: null, messages: [] } });
    expect(page.queryByTestId("waiting-line")).toBeNull();
    const said = (seconds: number) =>
      `model of 'release' has not answered for ${seconds} s; cancel is safe: nothing of this call is stored`;
    await fake.message(piece("", { number: 1, waiting: said(10) }));
    expect(page.getByTestId("waiting-line").textContent).toBe(said(10));
    const aloud = page.getByText("The model keeps you waiting.");
    expect(aloud.getAttribute("role")).toBe("status");
    const changes: MutationRecord[] = [];
    const observer = new MutationObserver((records) => changes.push(...records));
    observer.observe(aloud, { childList: true, characterData: true, subtree: true });
    await fake.message(piece("", { number: 2, waiting: said(11) }));
    expect(page.getByTestId("waiting-line").textContent).toBe(said(11));
    expect(changes).toEqual([]);
    observer.disconnect();
    expect(page.getByTestId("cancel")).toBeTruthy();
    await fake.message(piece("", { number: 3 }));
    expect(page.queryByTestId("waiting-line")).toBeNull();
    expect(aloud.textContent).toBe("");
  });
});

describe("what a call took (W4.9)", () => {
  it("stands beside its message", async () => {
    const { page } = await show(readSession("waiting"), {}, transcriptWidget);
    const notes = [...page.getByTestId("transcript").querySelectorAll(".llm4s-note")].map((note) => note.textContent);
    expect(notes).toEqual(["1.2 s, first word after 0.4 s, 912 in, 88 out"]);
  });
});
