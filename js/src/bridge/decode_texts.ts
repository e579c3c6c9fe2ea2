import type { TextsMessage } from "../wire/texts";
import { decodeMessage, isObject } from "./decode";

/** Read a custom message of a text review. Null for anything that is none, or lacks a field the browser reads. */
export function decodeTexts(content: unknown): TextsMessage | null {
  if (!isObject(content)) return null;
  const read = READERS[String(content.kind)];
  if (read === undefined) return decodeMessage(content) as TextsMessage | null;
  return read(content) ? (content as unknown as TextsMessage) : null;
}

type Fields = { readonly [name: string]: unknown };

const isText = (value: unknown): value is string => typeof value === "string";
const isNumber = (value: unknown): value is number => typeof value === "number";
const areNumbers = (value: unknown): value is number[] => Array.isArray(value) && value.every(isNumber);

const READERS: Readonly<Record<string, (content: Fields) => boolean>> = {
  found: (content) =>
    isText(content.request_id) &&
    isNumber(content.results) &&
    areNumbers(content.positions) &&
    isText(content.marks) &&
    content.marks.length === content.positions.length,
  rows: (content) =>
    isText(content.request_id) &&
    Array.isArray(content.rows) &&
    content.rows.every((row) => isObject(row) && isNumber(row.position) && isText(row.id) && isText(row.excerpt) && isText(row.mark)),
  opened: (content) =>
    isText(content.request_id) &&
    isNumber(content.position) &&
    isText(content.id) &&
    isText(content.text) &&
    isNumber(content.cut) &&
    isText(content.outcome) &&
    isText(content.mark) &&
    "verdict" in content &&
    "made_of_it" in content &&
    "before" in content &&
    Array.isArray(content.reasons),
  decided: (content) => isText(content.request_id) && isText(content.said) && isNumber(content.position) && isNumber(content.left),
  marks: (content) => areNumbers(content.positions) && isText(content.mark),
};
