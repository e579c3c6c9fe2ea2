import { draftOf, type TextsDesk } from "./desk";

/** The keys of the review, as the help lists them. */
export const KEYS: readonly [string, string][] = [
  ["j / k", "next and previous text (also ↓ and ↑)"],
  ["a", "allow: a false alarm"],
  ["b", "block: refused rightly"],
  ["e", "edit: write what should stand there"],
  ["n", "write a note; it goes with the verdict"],
  ["u", "undo the last verdict"],
  ["/", "search"],
  ["Ctrl+Enter", "in a text field: save the edit, or the note"],
  ["Esc", "in a text field: back to the list; what you typed stays"],
  ["?", "this help"],
];

/** Typing in a field is typing. */
export function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement;
}

export interface Places {
  help(): void;
  focusList(): void;
  focusEdit(): void;
  focusNote(): void;
  focusSearch(): void;
}

const STEPS: Readonly<Record<string, number>> = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1, PageDown: 8, PageUp: -8 };

/** Act on a key pressed inside the review. True if it meant something here. */
export function onTextsKey(event: KeyboardEvent, desk: TextsDesk, places: Places): boolean {
  if (event.isComposing) return false;
  if (isTyping(event.target)) return onTypingKey(event, places);
  // The notebook's way to run a cell; on a focused button a browser would take it for a click.
  if (event.key === "Enter" && (event.shiftKey || event.altKey || event.ctrlKey || event.metaKey)) return true;
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const step = STEPS[event.key];
  const onList = event.target instanceof Element && event.target.getAttribute("role") === "listbox";
  if (step !== undefined && (event.key.length === 1 || onList)) {
    places.focusList();
    desk.step(step);
    return true;
  }
  // A key held down decides once.
  if (event.repeat) return event.key.length === 1;
  return onLetter(event.key, desk, places);
}

function onTypingKey(event: KeyboardEvent, places: Places): boolean {
  if (event.key !== "Escape" || event.target instanceof HTMLSelectElement) return false;
  places.focusList();
  return true;
}

function onLetter(key: string, desk: TextsDesk, places: Places): boolean {
  const open = desk.connection.value !== "lost";
  switch (key) {
    case "?":
      places.help();
      return true;
    case "/":
      places.focusSearch();
      return true;
    case "u":
      if (open) desk.undo();
      places.focusList();
      return true;
    case "a":
    case "b":
      if (open) decide(desk, key === "a" ? "allow" : "block");
      places.focusList();
      return true;
    case "e":
      if (open && startWriting(desk, "editing")) places.focusEdit();
      return true;
    case "n":
      if (open && startWriting(desk, "noting")) places.focusNote();
      return true;
    default:
      return false;
  }
}

/** Allow or block what is open, with the note that was written for it. */
export function decide(desk: TextsDesk, verdict: "allow" | "block"): boolean {
  const opened = desk.opened.value;
  if (opened === null || !canDecide(desk)) return false;
  return desk.decide(verdict, null, noteOf(desk));
}

/** The note that goes with a verdict: what is being written, else what stood there. */
export function noteOf(desk: TextsDesk): string | null {
  const opened = desk.opened.value;
  if (opened === null) return null;
  const note = draftOf(desk, opened.position).note ?? opened.verdict?.note ?? "";
  return note.trim() === "" ? null : note;
}

/** Whether there is something to decide about the open text. */
function canDecide(desk: TextsDesk): boolean {
  const opened = desk.opened.value;
  return opened !== null && opened.position === desk.current.value && opened.mark !== "none";
}

/** Open the edit or the note of the current text. False where there is nothing to write about. */
export function startWriting(desk: TextsDesk, what: "editing" | "noting"): boolean {
  const opened = desk.opened.value;
  if (opened === null || !canDecide(desk) || (what === "editing" && opened.cut > 0)) return false;
  desk.setDraft(opened.position, { ...draftOf(desk, opened.position), [what]: true });
  return true;
}
