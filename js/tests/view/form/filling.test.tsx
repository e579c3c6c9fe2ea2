import { act } from "@testing-library/preact";
import { describe, expect, it } from "vitest";
import type { Path } from "../../../src/view/json";
import panel from "../../../src/widgets/review_panel";
import type { JsonObject, PendingCard } from "../../../src/wire/index";
import { readFixture, readSession } from "../../support/fixture";
import { click, show, type } from "../../support/show";

const question = readSession().pending[2] as PendingCard;

/** A form filled in by a person: fields found by their place, buttons and choices by their words. */
async function filling(name: string) {
  const schema = readFixture(`forms/${name}`).schema as JsonObject;
  const { fake, page, card } = await show({ pending: [{ ...question, lenient: false, answer_schema: schema }] }, {}, panel);
  const root = page.getByTestId(`card-${question.id}`);
  const at = (path: Path, part = "") => {
    const suffix = encodeURIComponent(JSON.stringify(path)) + part;
    const found = [...root.querySelectorAll<HTMLElement>("[id]")].find((element) => element.id.endsWith(suffix));
    if (found === undefined) throw new Error(`nothing at ${JSON.stringify(path)}`);
    return found;
  };
  const field = (path: Path) => at(path, "-name").closest(".llm4s-field") as HTMLElement;
  return {
    write: (path: Path, text: string) => type(at(path), text),
    choose: async (path: Path, words: string) => {
      const label = [...field(path).querySelectorAll("label.llm4s-choice")].find((one) => one.textContent?.trim() === words);
      if (label === undefined) throw new Error(`no choice ${words}`);
      await act(() => label.querySelector("input")?.click());
    },
    button: async (path: Path, words: string) => {
      const buttons = [...field(path).querySelectorAll("button")].filter((one) => one.textContent?.trim() === words);
      await click(buttons[buttons.length - 1] as HTMLElement);
    },
    send: () => click(card(question.id).getByTestId("submit-card")),
    problems: () =>
      card(question.id)
        .queryAllByTestId("problem")
        .map((problem) => problem.textContent),
    sent: () => fake.requests.filter((request) => request.body.kind === "submit"),
  };
}

type Filler = Awaited<ReturnType<typeof filling>>;

const FILLINGS: Readonly<Record<string, (form: Filler) => Promise<void>>> = {
  person: async ({ write, choose, button }) => {
    await write(["name"], "Ana");
    await write(["home", "street"], "Main St 1");
    await write(["home", "zip_code"], "12345");
    await button(["work"], "Add work");
    await write(["work", "street"], "Side St 2");
    await write(["work", "zip_code"], "54321");
    await choose(["colour"], "green");
    await choose(["priority"], "2");
    await choose(["active"], "no");
    await write(["ratio"], ".5");
  },
  money: async ({ write, button }) => {
    await write(["amount"], "12.50");
    await button(["fees"], "Add an item");
    await write(["fees", 0], "1.10");
  },
  unions: async ({ choose, write }) => {
    await choose(["pet"], "Dog");
    await write(["pet", "breed"], "collie");
    await choose(["other"], "nothing (null)");
    await choose(["mixed"], "whole number");
    await write(["mixed"], "7");
    await choose(["either"], "Address");
    await write(["either", "street"], "x");
    await write(["either", "zip_code"], "00000");
    await choose(["choice"], "true");
  },
  collections: async ({ write, button }) => {
    await button(["rows"], "Add an item");
    await write(["rows", 0, "street"], "x");
    await write(["rows", 0, "zip_code"], "12345");
    await write(["counts"], "a b");
    await button(["counts"], "Add");
    await write(["counts", "a b"], "3");
    await write(["pair", 1], "x");
    await write(["pair", 0], "1");
    await button(["tags"], "Add an item");
    await write(["tags", 0], "t");
  },
  moments: async ({ write }) => {
    await write(["day"], "2026-11-30");
    await write(["at"], "2026-11-30T14:05:00+01:00");
    await write(["clock"], "14:05:00");
    await write(["lasts"], "PT5M");
    await write(["ident"], "123e4567-e89b-12d3-a456-426614174000");
    await write(["link"], "https://example.org/");
    await write(["secret"], "s");
  },
  tree: async ({ write, button }) => {
    await write(["name"], "root");
    await write(["anything"], '{"free": [1, null]}');
    await button(["children"], "Add an item");
    await write(["children", 0, "name"], "leaf");
    await button(["children", 0, "children"], "Add an item");
    await write(["children", 0, "children", 0, "name"], "bud");
  },
  closed: async ({ write }) => write(["text"], "x"),
  optional_text: async ({ choose }) => choose([], "nothing (null)"),
  flag: async ({ choose }) => choose([], "no"),
  number: async ({ write }) => write([], "0"),
  texts: async ({ write, button }) => {
    await button([], "Add an item");
    await write([0], "one\ntwo");
  },
  anything: async ({ write }) => write([], "[false]"),
  pet: async ({ choose, write }) => {
    await choose([], "Cat");
    await write(["lives"], "3");
  },
};

describe("a form filled in from nothing", () => {
  const decisions: JsonObject[] = [];

  it.each(Object.entries(FILLINGS))("%s is sent as a decision", async (name, fill) => {
    const form = await filling(name);
    await fill(form);
    await form.send();
    expect(form.problems()).toEqual([]);
    const [request] = form.sent();
    decisions.push({ form: name, request: { ...request, request_id: "fixture" } as unknown as JsonObject });
    expect(form.sent()).toHaveLength(1);
  });

  it("what was sent is kept, for the kernel's side to check with pydantic", async () => {
    expect(decisions.map((one) => one.form)).toEqual(Object.keys(FILLINGS));
    await expect(`${JSON.stringify(decisions, null, 1)}\n`).toMatchFileSnapshot("../../fixtures/decisions.json");
  });
});

describe("what is missing or cannot be read", () => {
  it("is said at its place and nothing is sent", async () => {
    const form = await filling("person");
    await form.write(["ratio"], "half");
    await form.send();
    expect(form.sent()).toEqual([]);
    expect(form.problems()).toEqual(["Required.", "Required.", "Required.", "Required.", "Required.", "“half” is not a number."]);
  });

  it("items of a list keep what was typed when an earlier one is removed", async () => {
    const form = await filling("collections");
    await form.button(["many"], "Add an item");
    await form.button(["many"], "Add an item");
    await form.button(["many"], "Add an item");
    await form.write(["many", 0], "1");
    await form.write(["many", 1], "2");
    await form.write(["many", 2], "x3");
    await form.button(["many", 0], "remove");
    const texts = [0, 1].map(
      (index) => document.querySelector<HTMLInputElement>(`[id$='${encodeURIComponent(JSON.stringify(["many", index]))}']`)?.value,
    );
    expect(texts).toEqual(["2", "x3"]);
    await form.send();
    expect(form.problems()).toContain("“x3” is not a number.");
  });

  it("places of a tuple that are not given are missing, not null", async () => {
    const form = await filling("collections");
    await form.write(["pair", 1], "x");
    await form.send();
    expect(form.sent()).toEqual([]);
    expect(form.problems()).toContain("Required.");
  });
});
