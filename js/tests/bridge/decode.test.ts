import { describe, expect, it } from "vitest";
import { decodeMessage } from "../../src/bridge/decode";
import { fixtureNames, readFixture } from "../support/fixture";

const kernel = fixtureNames("messages").filter((name) => !name.startsWith("request_"));

describe("messages of the kernel", () => {
  it("has a golden sample of every kind", () => {
    expect(kernel.sort()).toEqual(["done", "drafts", "live", "refused", "welcome"]);
  });

  it.each(kernel)("reads %s as it is", (name) => {
    const message = readFixture(`messages/${name}`);
    expect(decodeMessage(message)).toBe(message);
  });

  it.each(kernel)("reads no %s that lacks a field", (name) => {
    const message = readFixture(`messages/${name}`);
    for (const key of Object.keys(message)) {
      const { [key]: _, ...rest } = message;
      expect(decodeMessage(rest), key).toBeNull();
    }
  });

  it.each([null, "done", [], {}, { kind: "run" }, { kind: "done", request_id: 1, said: "" }])("reads nothing from %j", (content) => {
    expect(decodeMessage(content)).toBeNull();
  });
});
