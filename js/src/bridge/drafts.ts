import { signal } from "@preact/signals";
import type { Json, JsonObject } from "../wire/index";

/** How long after the last keystroke a draft goes to the session. */
export const SAVE_AFTER_MS = 300;

/** Tells the session a draft (null forgets it); settles with whether the session has taken it. */
type Save = (id: string, draft: Json) => Promise<boolean>;

/**
 * What a person has begun, by interrupt id. The session keeps the drafts so that other views and a reloaded page show them (W1.4);
 * while something here is not yet saved, what arrives from the session does not overwrite it. One save per card is under way at most.
 * The session keeps no secrets (rule 3.8.7): what comes back of a draft typed here may be less than what was typed, and is then no news.
 */
export class DraftStore {
  readonly all = signal<Readonly<Record<string, JsonObject>>>({});
  private readonly unsaved = new Set<string>();
  private readonly saving = new Set<string>();
  /** Ids whose draft the session did not take, as one that is too long: it stays in this page alone. */
  private readonly untaken = new Set<string>();
  /** Ids whose draft was typed here, and not heard from another view since. */
  private readonly typedHere = new Set<string>();
  private readonly timers = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(private readonly save: Save) {}

  set(id: string, draft: JsonObject | null): void {
    this.put(id, draft);
    this.typedHere.add(id);
    this.unsaved.add(id);
    clearTimeout(this.timers.get(id));
    this.timers.set(
      id,
      setTimeout(() => this.send(id), SAVE_AFTER_MS),
    );
  }

  /** Take the session's drafts, except where something newer was typed here. */
  take(drafts: JsonObject): void {
    const merged: Record<string, JsonObject> = {};
    for (const [id, draft] of Object.entries(drafts)) {
      if (typeof draft === "object" && draft !== null && !Array.isArray(draft)) merged[id] = draft;
    }
    for (const id of [...this.unsaved, ...this.saving, ...this.untaken]) {
      const own = this.all.value[id];
      if (own === undefined) delete merged[id];
      else merged[id] = own;
    }
    for (const id of this.typedHere) {
      const own = this.all.value[id];
      const heard = merged[id];
      if (own !== undefined && heard !== undefined && isPartOf(heard, own)) merged[id] = own;
      else if (own !== heard) this.typedHere.delete(id);
    }
    this.all.value = merged;
  }

  /** Drop the drafts of what is no longer pending; the session drops its own. */
  keepOnly(ids: ReadonlySet<string>): void {
    const stale = Object.keys(this.all.value).filter((id) => !ids.has(id));
    for (const id of stale) {
      clearTimeout(this.timers.get(id));
      this.timers.delete(id);
      this.unsaved.delete(id);
      this.typedHere.delete(id);
      this.untaken.delete(id);
    }
    if (stale.length > 0) this.all.value = Object.fromEntries(Object.entries(this.all.value).filter(([id]) => ids.has(id)));
  }

  /** Save at once whatever waits to be saved: the page may be about to go. */
  flush(): void {
    for (const id of [...this.unsaved]) this.send(id);
  }

  private put(id: string, draft: JsonObject | null): void {
    const next = { ...this.all.value };
    if (draft === null) delete next[id];
    else next[id] = draft;
    this.all.value = next;
  }

  private send(id: string): void {
    clearTimeout(this.timers.get(id));
    this.timers.delete(id);
    if (this.saving.has(id) || !this.unsaved.delete(id)) return;
    this.saving.add(id);
    void this.save(id, this.all.value[id] ?? null).then((taken) => {
      this.saving.delete(id);
      if (taken) this.untaken.delete(id);
      else this.untaken.add(id);
      if (this.unsaved.has(id)) this.send(id);
    });
  }
}

/** Whether a draft is another one from which something was left out: a field, an item (null stands for it), or text that is JSON. */
function isPartOf(part: Json | undefined, whole: Json | undefined): boolean {
  if (part === undefined) return false;
  if (part === whole || part === null) return true;
  if (Array.isArray(part))
    return Array.isArray(whole) && part.length === whole.length && part.every((item, at) => isPartOf(item, whole[at]));
  if (typeof part === "object") {
    if (typeof whole !== "object" || whole === null || Array.isArray(whole)) return false;
    return Object.entries(part).every(([key, item]) => Object.hasOwn(whole, key) && isPartOf(item, whole[key]));
  }
  return typeof part === "string" && typeof whole === "string" && isPartOfText(part, whole);
}

function isPartOfText(part: string, whole: string): boolean {
  try {
    const [left, right] = [JSON.parse(part) as Json, JSON.parse(whole) as Json];
    return typeof left === "object" && left !== null && isPartOf(left, right);
  } catch {
    return false;
  }
}
