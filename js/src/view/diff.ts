import { diffArrays } from "diff";
import type { Json } from "../wire/index";
import { equal, isObject, type Maybe, type Path } from "./json";

export interface Piece {
  readonly text: string;
  readonly change: "same" | "added" | "removed";
}

/** Comparing words takes quadratic time in the worst case: after this long lines are compared, then whole texts. */
const PATIENCE_MS = 60;

/** Texts longer than this together are not taken apart into words, and those longer still not into lines. */
const WORDS_AT_MOST = 200_000;
const LINES_AT_MOST = 4_000_000;

/** Line ends, words of Latin letters and digits, spaces, and every other character by itself: the parts that jsdiff's own diffWordsWithSpace takes. */
const WORDS = /\r?\n|[\w\u{AD}\u{C0}-\u{D6}\u{D8}-\u{F6}\u{F8}-\u{2C6}\u{2C8}-\u{2D7}\u{2DE}-\u{2FF}\u{1E00}-\u{1EFF}]+|[^\S\r\n]+|./gsu;
const LINES = /[^\n]*\n|[^\n]+/g;

/** What changed between two texts: by words where that is quick, else by lines, else the whole texts. */
export function diffText(before: string, after: string): Piece[] {
  const size = before.length + after.length;
  const compared = (part: RegExp, atMost: number) =>
    size > atMost ? undefined : diffArrays(before.match(part) ?? [], after.match(part) ?? [], { timeout: PATIENCE_MS });
  const parts = compared(WORDS, WORDS_AT_MOST) ?? compared(LINES, LINES_AT_MOST);
  if (parts === undefined) {
    return [
      { text: before, change: "removed" },
      { text: after, change: "added" },
    ];
  }
  return parts.map(({ value, added, removed }) => ({ text: value.join(""), change: added ? "added" : removed ? "removed" : "same" }));
}

export interface Change {
  readonly path: Path;
  readonly before: Maybe;
  readonly after: Maybe;
}

/** The places where two JSON values differ, outermost first; a list whose length changed counts as one place. */
export function diffJson(before: Maybe, after: Maybe, path: Path = []): Change[] {
  if (equal(before, after)) return [];
  if (isObject(before) && isObject(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return keys.flatMap((key) => diffJson(own(before, key), own(after, key), [...path, key]));
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((item, index) => diffJson(item, after[index], [...path, index]));
  }
  return [{ path, before, after }];
}

const own = (value: { [key: string]: Json }, key: string): Maybe => (Object.hasOwn(value, key) ? value[key] : undefined);

/** A place in words: `steps → 2 → name`. */
export const pathText = (path: Path) =>
  path.length === 0 ? "the whole value" : path.map((step) => (typeof step === "number" ? step + 1 : step)).join(" → ");
