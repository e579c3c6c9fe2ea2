import type { TextFilter, TextMark } from "../../wire/texts";

/** A mark as a glyph and a word: colour alone says nothing to some. */
export const MARK_WORDS: Readonly<Record<TextMark, { glyph: string; word: string }>> = {
  undecided: { glyph: "?", word: "undecided" },
  allow: { glyph: "✓", word: "allowed" },
  edit: { glyph: "✎", word: "edited" },
  block: { glyph: "✕", word: "blocked" },
  none: { glyph: "·", word: "nothing to decide" },
};

export const SHOW_WORDS: Readonly<Record<TextFilter["show"], string>> = {
  refused: "Refused",
  newly_refused: "Newly refused",
  newly_passing: "Newly passing",
  mended: "False alarms that pass now",
  missed: "Blocked, but pass now",
  fixed: "Changed by a guardrail",
  errors: "A guardrail failed",
  all: "All texts",
};

export const VERDICT_WORDS: Readonly<Record<TextFilter["verdict"], string>> = {
  any: "any verdict",
  undecided: "undecided",
  block: "blocked (right)",
  allow: "allowed (false alarm)",
  edit: "edited",
};

/** A number as people write it: 10,000. */
export const numberText = (value: number) => value.toLocaleString("en-US");

export const textsText = (count: number) => `${numberText(count)} text${count === 1 ? "" : "s"}`;
