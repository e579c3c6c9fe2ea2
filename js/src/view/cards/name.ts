import type { Json, PendingCard } from "../../wire/index";
import { isObject, lostNumber, type Maybe } from "../json";
import { oneLine } from "../unseen";

/** Arguments that say where a call goes, and those that say what it is about, the most telling first. */
const WHERE = ["environment", "env", "target", "destination", "to", "recipient", "recipients", "channel", "stage", "region"];
const WHAT = ["path", "file", "filename", "table", "database", "bucket", "resource", "service", "name", "id", "url", "command", "query"];
const SHORT = 40;

/** A call in a few words: "deploy to prod", "purge: logs-2025", or the tool's name alone where no argument can be said in short. */
export function callName(card: PendingCard, args: Maybe = card.arguments as Json): string {
  const tool = oneLine(card.tool_name ?? "the call", SHORT);
  const short = Object.entries(isObject(args) ? args : {}).filter(([, value]) => isShort(value));
  const at = (key: string) => short.find(([name]) => name.toLowerCase() === key);
  const where = WHERE.map(at).find((found) => found !== undefined);
  const what =
    where ?? WHAT.map(at).find((found) => found !== undefined) ?? short.find(([, value]) => typeof value === "string") ?? short[0];
  if (what === undefined) return tool;
  return `${tool}${where === undefined ? ": " : " to "}${oneLine(String(what[1]), SHORT)}`;
}

const isShort = (value: Json): boolean =>
  (typeof value === "string" && value.trim() !== "" && value.length <= SHORT && !value.includes("\n")) ||
  (typeof value === "number" && lostNumber(value) === null);
