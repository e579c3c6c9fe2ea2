import { describe, expect, it, vi } from "vitest";
import { SAVE_AFTER_MS } from "../../../src/bridge/drafts";
import { hideSecrets, TYPED_SECRET } from "../../../src/view/form/secret";
import type { JsonObject, PendingCard } from "../../../src/wire/index";
import { readSession } from "../../support/fixture";
import { click, show, tick, type } from "../../support/show";

const DOTS = "•".repeat(8);
const OTHERS = "•".repeat(9);
const SECRET: JsonObject = { type: "string", format: "password", writeOnly: true };
const SCHEMA: JsonObject = {
  type: "object",
  properties: { logins: { type: "array", items: { $ref: "#/$defs/Login" } }, token: SECRET, note: { type: "string" } },
  required: ["logins", "token"],
  additionalProperties: false,
  $defs: { Login: { type: "object", properties: { user: { type: "string" }, password: SECRET }, required: ["user", "password"] } },
};
const approval = readSession().pending[0] as PendingCard;
const card: PendingCard = {
  ...approval,
  arguments: { logins: [{ user: "ana", password: DOTS }], token: OTHERS, note: "n" },
  arguments_schema: SCHEMA,
};

async function editing() {
  const shown = await show({ pending: [card] });
  const at = shown.card(card.id);
  await click(at.getByTestId("edit"));
  const root = shown.page.getByTestId(`card-${card.id}`);
  const secrets = () => [...root.querySelectorAll<HTMLInputElement>('input[type="password"]')];
  const send = async () => {
    await click(at.getByTestId("submit-card"));
    return shown.fake.sent("submit").flatMap((body) => body.decisions);
  };
  return { ...shown, root, secrets, send, diff: () => at.queryByTestId("diff")?.textContent ?? null };
}

describe("secrets of a call", () => {
  it("3.8.4: are left as they are unless something is typed, which replaces them and is nowhere to be read", async () => {
    const { root, secrets, send, diff } = await editing();
    expect(secrets().map((input) => [input.value, input.placeholder])).toEqual([
      ["", "•••••••• unchanged"],
      ["", "•••••••• unchanged"],
    ]);
    expect(diff()).toBeNull();
    await type(secrets()[0] as HTMLInputElement, "hunter2");
    expect(diff()).toContain(TYPED_SECRET);
    expect(root.textContent).not.toContain("hunter2");
    expect(await send()).toEqual([
      {
        decision: "edit",
        id: card.id,
        arguments: { logins: [{ user: "ana", password: "hunter2" }], token: OTHERS, note: "n" },
      },
    ]);
  });

  it("3.8.4: an emptied field stands for the stored secret again", async () => {
    const { secrets, send } = await editing();
    await type(secrets()[1] as HTMLInputElement, "x");
    await type(secrets()[1] as HTMLInputElement, "");
    expect(await send()).toEqual([{ decision: "edit", id: card.id, arguments: card.arguments }]);
  });

  it("3.8.7: a draft that comes back without its secret does not take away what was typed here", async () => {
    vi.useFakeTimers(); // before the first draft: a real timer would save it in the midst of this, whenever that is
    const { fake, secrets, send } = await editing();
    await tick(SAVE_AFTER_MS);
    await fake.done("save_draft");
    await type(secrets()[0] as HTMLInputElement, "hunter2");
    await tick(SAVE_AFTER_MS);
    const kept = { decision: "edit", arguments: { logins: [{ user: "ana" }], token: OTHERS, note: "n" } };
    await fake.done("save_draft");
    await fake.message({ kind: "drafts", origin: null, drafts: { [card.id]: kept } });
    expect(secrets()[0]?.value).toBe("hunter2");
    const theirs = { ...kept, arguments: { logins: [{ user: "bo" }], token: OTHERS, note: "n" } };
    await fake.message({ kind: "drafts", origin: null, drafts: { [card.id]: theirs } });
    expect(secrets()[0]?.value).toBe("");
    expect(await send()).toEqual([]);
  });

  it("3.8.4: are hidden wherever the schema has them", () => {
    const schema: JsonObject = {
      anyOf: [
        { type: "object", properties: { a: { anyOf: [SECRET, { type: "null" }] } }, additionalProperties: SECRET },
        { type: "array", prefixItems: [{ type: "string" }, SECRET], items: { type: "object", patternProperties: { "^x": SECRET } } },
      ],
    };
    const hidden = (value: JsonObject[string]) => hideSecrets(schema, schema, value);
    expect(hidden({ a: "s", b: "t" })).toEqual({ a: TYPED_SECRET, b: TYPED_SECRET });
    expect(hidden({ a: null, b: DOTS })).toEqual({ a: null, b: DOTS });
    expect(hidden(["open", "s", { x1: "t" }])).toEqual(["open", TYPED_SECRET, { x1: TYPED_SECRET }]);
    expect(hideSecrets(schema, schema, undefined)).toBeUndefined();
  });
});
