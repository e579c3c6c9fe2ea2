import { focusSoon } from "../focus";
import type { PanelScope } from "./context";
import { choicesOf } from "./decide";
import type { Choice } from "./draft";
import { shown } from "./groups";
import { Hand } from "./hand";

/** The keys of the panel, as the help lists them. */
export const KEYS: readonly [string, string][] = [
  ["j / k", "next and previous card"],
  ["a", "choose approve (or allow)"],
  ["r", "choose reject, and write the reason (or choose block)"],
  ["e", "open the edit"],
  ["p", "choose proceed"],
  ["Escape", "leave a field; take a choice back (so does its letter)"],
  ["Ctrl+Enter", "submit what is chosen and the card you are in"],
  ["?", "this help"],
];

/** Typing in a field is typing: no key but Ctrl+Enter means anything there. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && !["checkbox", "radio", "button"].includes(target.type);
}

export interface KeyActions {
  help(): void;
  /** Send what is chosen, and the card one is in where something is begun on it; false where that is nothing. */
  submitChosen(current: string | null): boolean;
}

/** Act on a key pressed inside the panel (W5.6). A letter chooses and never sends: a stray key runs nothing. True if it meant something. */
export function onPanelKey(event: KeyboardEvent, scope: PanelScope, root: HTMLElement, actions: KeyActions): boolean {
  if (event.isComposing) return false;
  if (event.repeat || scope.guard.settling.value) return event.key === "Enter" && !isTyping(event.target);
  const current = cardOf(event.target);
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
    if (isClosed(scope)) return true;
    return actions.submitChosen(current) || true;
  }
  // The notebook's way to run a cell; on a focused button a browser would take it for a click.
  if (event.key === "Enter" && (event.shiftKey || event.altKey) && !isTyping(event.target)) return true;
  if (event.key === "Escape") return leave(event.target, scope, root, current);
  if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return false;
  if (event.key === "?") actions.help();
  else if (event.key === "j" || event.key === "k") focusBeside(scope, root, current, event.key === "j" ? 1 : -1);
  else return decideByKey(event.key, scope, root, current);
  return true;
}

export function cardOf(target: EventTarget | null): string | null {
  return target instanceof Element ? (target.closest<HTMLElement>("[data-card]")?.dataset.card ?? null) : null;
}

/** Out of a field to its card, and there out of what is chosen or open. */
function leave(target: EventTarget | null, scope: PanelScope, root: HTMLElement, current: string | null): boolean {
  const card = scope.desk.state.value?.pending.find((one) => one.id === current);
  if (card === undefined) return false;
  const element = cardElement(root, card.id);
  if (target !== element) element?.focus();
  else if (!isClosed(scope)) new Hand(scope, card).takeBack();
  return true;
}

const isClosed = ({ desk }: PanelScope) => desk.options.read_only || desk.connection.value === "lost";

function focusBeside(scope: PanelScope, root: HTMLElement, current: string | null, by: 1 | -1): void {
  const cards = shown(scope.desk.state.value?.pending ?? []);
  const at = cards.findIndex((card) => card.id === current);
  const next = at < 0 ? cards[by > 0 ? 0 : cards.length - 1] : cards[at + by];
  if (next !== undefined) goTo(scope, root, next.id);
}

function decideByKey(key: string, scope: PanelScope, root: HTMLElement, current: string | null): boolean {
  const card = scope.desk.state.value?.pending.find((one) => one.id === current);
  const choice = card === undefined ? undefined : choicesOf(card).find((one) => KEY_OF[one] === key);
  if (card === undefined || choice === undefined) return false;
  if (isClosed(scope)) return true;
  const hand = new Hand(scope, card);
  if (hand.draft.decision === choice) {
    hand.takeBack();
  } else if (choice === "reject" || choice === "edit") {
    // To reject needs nothing more than the reason that is there; an edit begins with a look.
    if (choice === "reject") hand.choose("reject");
    else hand.change({ decision: "edit" });
    toEditor(cardElement(root, card.id), hand);
  } else {
    hand.choose(choice);
  }
  return true;
}

const KEY_OF: Readonly<Record<Choice, string>> = { approve: "a", allow: "a", reject: "r", block: "r", edit: "e", reply: "", proceed: "p" };

export function cardElement(root: ParentNode, id: string): HTMLElement | null {
  return [...root.querySelectorAll<HTMLElement>("[data-card]")].find((card) => card.dataset.card === id) ?? null;
}

/** Into the field that is being opened on a card. The reason that stands in for one's own is selected: typing replaces it. */
export function toEditor(card: HTMLElement | null, hand: Hand): void {
  focusSoon(card, () => {
    const field = card?.querySelector<HTMLElement>(".llm4s-editor input, .llm4s-editor textarea, .llm4s-editor select") ?? null;
    const { decision, reason } = hand.draft;
    if (decision === "reject" && reason === undefined) (field as HTMLTextAreaElement | null)?.select();
    return field;
  });
}

/** Move the focus to a card, scrolling as little as that needs; one that is not drawn gets it when it is. */
export function goTo({ wanted }: PanelScope, root: ParentNode, id: string): void {
  const element = cardElement(root, id);
  if (element === null) wanted.value = id;
  else element.focus();
}
