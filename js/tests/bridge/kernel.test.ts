import { describe, expect, it } from "vitest";
import { kernelOf } from "../../src/bridge/kernel";
import type { SessionState } from "../../src/wire/index";
import { readSession } from "../support/fixture";

type Agents = NonNullable<SessionState["editor"]>["agents"];

/** A model of these traits, as the widget library hands it out. */
function stateOf(traits: { state: unknown; agents?: Agents }) {
  const model = { get: (key: "state" | "agents") => traits[key], on: () => {}, off: () => {} };
  return kernelOf(model as never, () => {}).state();
}

describe("the document", () => {
  const whole = readSession("new");
  const editor = whole.editor as NonNullable<SessionState["editor"]>;

  it("W4.5: is whole again where the forms of its agents were sent beside it", () => {
    expect(editor.agents.length).toBeGreaterThan(0);
    const { agents, ...rest } = editor;
    expect(stateOf({ state: { ...whole, editor: rest }, agents })).toEqual(whole);
  });

  it("is taken as it is where they were not", () => {
    expect(stateOf({ state: whole })).toBe(whole);
    expect(stateOf({ state: { ...whole, editor: null }, agents: [] })).toEqual({ ...whole, editor: null });
  });

  it.each([null, undefined, {}])("is none while there is none: %j", (state) => {
    expect(stateOf({ state })).toBeNull();
  });
});
