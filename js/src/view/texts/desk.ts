import type { ReadonlySignal } from "@preact/signals";
import type { JsonObject, Refusal } from "../../wire/index";
import type { OpenedText, TextFilter, TextMark, TextRow, TextsState, TextVerdict } from "../../wire/texts";

/** What a person has begun on a text and not sent. */
export interface TextDraft extends JsonObject {
  readonly edit: string | null;
  readonly note: string | null;
  readonly editing: boolean;
  readonly noting: boolean;
}

export const NO_DRAFT: TextDraft = { edit: null, note: null, editing: false, noting: false };

/** The list that a filter found: positions in order, and where each stands in it. */
export interface Found {
  readonly filter: TextFilter;
  readonly positions: readonly number[];
  readonly places: ReadonlyMap<number, number>;
}

/** What the pieces of a text review draw from and what they may ask for. */
export interface TextsDesk {
  readonly state: ReadonlySignal<TextsState | null>;
  readonly connection: ReadonlySignal<"connecting" | "connected" | "busy" | "lost">;
  readonly late: ReadonlySignal<"sent" | "quiet" | null>;
  readonly refusal: ReadonlySignal<Refusal | null>;
  readonly said: ReadonlySignal<string>;
  readonly filter: ReadonlySignal<TextFilter>;
  readonly found: ReadonlySignal<Found | null>;
  readonly marks: ReadonlySignal<ReadonlyMap<number, TextMark>>;
  readonly rows: ReadonlySignal<ReadonlyMap<number, TextRow>>;
  readonly current: ReadonlySignal<number | null>;
  /** All of a text: the current one as soon as it has come, until then the one before. */
  readonly opened: ReadonlySignal<OpenedText | null>;
  /** Positions whose verdict is on its way. */
  readonly sending: ReadonlySignal<ReadonlySet<number>>;
  readonly drafts: ReadonlySignal<Readonly<Record<string, JsonObject>>>;
  look(change: Partial<TextFilter>): void;
  want(positions: readonly number[]): void;
  select(position: number): void;
  step(by: number): void;
  decide(verdict: TextVerdict, text: string | null, note: string | null): boolean;
  undo(): void;
  run(again: boolean): void;
  cancel(): void;
  setDraft(position: number, draft: TextDraft | null): void;
}

/** The draft of a text as this view reads it; another view may have written it. */
export function draftOf(desk: TextsDesk, position: number): TextDraft {
  const kept = desk.drafts.value[String(position)];
  if (kept === undefined) return NO_DRAFT;
  const text = (value: unknown) => (typeof value === "string" ? value : null);
  return { edit: text(kept.edit), note: text(kept.note), editing: kept.editing === true, noting: kept.noting === true };
}
