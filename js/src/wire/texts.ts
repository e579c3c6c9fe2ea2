/** The shapes of a text review, under the names the rest of the code uses. */
export type {
  Decided,
  FoundTexts,
  GuardrailCounts,
  OpenedText,
  TextCounts,
  TextMarks,
  TextReason,
  TextRow,
  TextRows,
  TextsState,
  TextVerdictView,
} from "./wire";

import type { Drafts, Reply } from "./index";
import type { components } from "./wire";

type Schemas = components["schemas"];

export type TextsRequestBody = Schemas["TextsRequest"]["body"];
export type TextsAnswer = Schemas["FoundTexts"] | Schemas["TextRows"] | Schemas["OpenedText"] | Schemas["Decided"];
export type TextsPush = Drafts | Schemas["TextMarks"];
export type TextsMessage = Reply | TextsAnswer | TextsPush;
export type TextMark = Schemas["TextRow"]["mark"];
export type TextVerdict = Schemas["DecideText"]["verdict"];

/** What the list shows: which texts, of them those with this verdict, refused by this guardrail, holding this text. */
export type TextFilter = Omit<Schemas["FindTexts"], "kind">;
