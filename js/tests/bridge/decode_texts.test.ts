import { describe, expect, it } from "vitest";
import { decodeTexts } from "../../src/bridge/decode_texts";
import { fixtureNames, readFixture } from "../support/fixture";

const kernel = fixtureNames("texts").filter((name) => !name.startsWith("request_") && name !== "state");

describe("messages of a text review", () => {
  it("has a golden sample of every kind", () => {
    expect(kernel.sort()).toEqual(["decided", "found", "marks", "opened", "rows"]);
  });

  it.each(kernel)("reads %s as it is", (name) => {
    const message = readFixture(`texts/${name}`);
    expect(decodeTexts(message)).toBe(message);
  });

  it.each(kernel)("reads no %s that lacks a field", (name) => {
    const message = readFixture(`texts/${name}`);
    for (const key of Object.keys(message)) {
      const { [key]: _, ...rest } = message;
      expect(decodeTexts(rest), key).toBeNull();
    }
  });

  it("reads what every widget is told", () => {
    for (const name of ["done", "drafts", "refused", "welcome"]) expect(decodeTexts(readFixture(`messages/${name}`))).not.toBeNull();
  });
});
