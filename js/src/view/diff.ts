import { diffLines, diffWordsWithSpace } from "diff";
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

/** What changed between two texts: by words where that is quick, else by lines, else the whole texts. */
export function diffText(before: string, after: string): Piece[] {
  const size = before.length + after.length;
  const limit = { timeout: PATIENCE_MS };
  const words = size <= WORDS_AT_MOST ? diffWordsWithSpace(before, after, limit) : undefined;
  const parts = words ?? (size <= LINES_AT_MOST ? diffLines(before, after, limit) : undefined);
  if (parts === undefined) {
    return [
      { text: before, change: "removed" },
      { text: after, change: "added" },
    ];
  }
  return parts.map((part) => ({ text: part.value, change: part.added ? "added" : part.removed ? "removed" : "same" }));
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
