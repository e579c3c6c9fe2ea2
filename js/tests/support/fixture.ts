import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { JsonObject, SessionState } from "../../src/wire/index";

const FOLDER = path.join(import.meta.dirname, "..", "fixtures");

export const readFixture = (name: string): JsonObject => JSON.parse(readFileSync(path.join(FOLDER, `${name}.json`), "utf8"));
export const fixtureNames = (folder: string): string[] =>
  readdirSync(path.join(FOLDER, folder)).map((file) => path.basename(file, ".json"));
export const readSession = (name = "waiting"): SessionState => readFixture(`sessions/${name}`) as unknown as SessionState;
