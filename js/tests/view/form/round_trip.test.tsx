import { act } from "@testing-library/preact";
import { describe, expect, it } from "vitest";
import { diffJson } from "../../../src/view/diff";
import { getAt, type Path } from "../../../src/view/json";
import panel from "../../../src/widgets/review_panel";
import type { Json, JsonObject, PendingCard } from "../../../src/wire/index";
import { fixtureNames, readFixture, readSession } from "../../support/fixture";
import { click, show as showIn, type } from "../../support/show";

interface FormFixture {
  schema: JsonObject;
  samples: Json[];
}

const show = (change: Parameters<typeof showIn>[0]) => showIn(change, {}, panel);

const names = fixtureNames("forms");
const read = (name: string) => readFixture(`forms/${name}`) as unknown as FormFixture;
const all = names.flatMap((name) => read(name).samples.map((sample, index) => ({ name, index, sample, schema: read(name).schema })));

const approval = readSession().pending[0] as PendingCard;
const question = readSession().pending[2] as PendingCard;

const editing = (schema: JsonObject, value: Json): PendingCard => ({
  ...approval,
  arguments: value as JsonObject,
  arguments_schema: schema,
});
const asking = (schema: JsonObject): PendingCard => ({ ...question, lenient: false, answer_schema: schema });

describe("what is shown is not changed (W2.9)", () => {
  it.each(all.filter(({ sample }) => typeof sample === "object" && sample !== null && !Array.isArray(sample)))(
    "an edit of $name $index sends its arguments untouched",
    async ({ schema, sample }) => {
      const { fake, card } = await show({ pending: [editing(schema, sample)] });
      await click(card(approval.id).getByTestId("edit"));
      await click(card(approval.id).getByTestId("submit-card"));
      const [decision] = fake.sent("submit")[0]?.decisions ?? [];
      expect(JSON.stringify(decision)).toBe(JSON.stringify({ decision: "edit", id: approval.id, arguments: sample }));
    },
  );

  it.each(all)("an answer of $name $index is sent as it was begun", async ({ schema, sample }) => {
    const { fake, card } = await show({ pending: [asking(schema)] });
    await fake.message({ kind: "drafts", origin: null, drafts: { [question.id]: { decision: "reply", value: sample } } });
    await click(card(question.id).getByTestId("submit-card"));
    const [decision] = fake.sent("submit")[0]?.decisions ?? [];
    expect(JSON.stringify(decision)).toBe(JSON.stringify({ decision: "reply", id: question.id, value: sample }));
  });
});

describe("what is edited is changed, and nothing else", () => {
  it.each([
    ["closed", 0, ["text"]],
    ["collections", 1, ["rows", 0, "street"]],
    ["deployment", 0, ["environment"]],
    ["moments", 0, ["at"]],
    ["money", 0, ["fees", 1]],
    ["person", 1, ["work", "street"]],
    ["pet", 0, ["breed"]],
    ["tree", 0, ["children", 1, "children", 0, "name"]],
    ["unions", 1, ["other", "breed"]],
  ] as [string, number, Path][])("in %s %i at %j", async (name, index, path) => {
    const { schema, samples } = read(name);
    const sample = samples[index] as Json;
    const { fake, page, card } = await show({ pending: [editing(schema, sample)] });
    await click(card(approval.id).getByTestId("edit"));
    const suffix = encodeURIComponent(JSON.stringify(path));
    const field = [...page.getByTestId(`card-${approval.id}`).querySelectorAll<HTMLElement>("input, textarea")].find((one) =>
      one.id.endsWith(suffix),
    );
    if (field === undefined) throw new Error("no field there");
    if (name === "deployment") await act(() => card(approval.id).getByLabelText("staging").click());
    else await type(field, "9.99");
    await click(card(approval.id).getByTestId("submit-card"));
    const [decision] = fake.sent("submit")[0]?.decisions ?? [];
    if (decision?.decision !== "edit") throw new Error("no edit was sent");
    const after = name === "deployment" ? "staging" : "9.99";
    expect(diffJson(sample, decision.arguments as JsonObject)).toEqual([{ path, before: getAt(sample, path), after }]);
    expect(card(approval.id).getByTestId("diff").textContent).toContain(after);
  });

  it.each(names)("every control of %s has a name", async (name) => {
    const { schema, samples } = read(name);
    const { fake, page } = await show({ pending: [asking(schema)] });
    await fake.message({
      kind: "drafts",
      origin: null,
      drafts: { [question.id]: { decision: "reply", value: samples[samples.length - 1] ?? null } },
    });
    const form = page.getByTestId(`card-${question.id}`).querySelector(".llm4s-form");
    const controls = [...(form?.querySelectorAll<HTMLElement>("input, select, textarea, button") ?? [])];
    expect(controls.length).toBeGreaterThan(0);
    const nameless = controls.filter((control) => accessibleName(control) === "");
    expect(nameless.map((control) => control.outerHTML)).toEqual([]);
  });
});

function accessibleName(control: HTMLElement): string {
  const labelled =
    control
      .getAttribute("aria-labelledby")
      ?.split(" ")
      .map((id) => document.getElementById(id)?.textContent ?? "") ?? [];
  return (
    control.getAttribute("aria-label") ??
    (labelled.join(" ") || control.closest("label")?.textContent || control.textContent || "")
  ).trim();
}
