import type { PendingCard } from "../../wire/index";
import type { PanelScope } from "./context";
import { decide } from "./decide";
import { type Choice, type Draft, readDraft, writeDraft } from "./draft";

/** A person tried to send these cards, and they cannot be sent as they are. */
export function noteTried({ tried }: PanelScope, ids: readonly string[]): void {
  const counts = new Map(tried.value);
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  tried.value = counts;
}

/** These cards can be sent now. */
export function forgetTried({ tried }: PanelScope, ids: readonly string[]): void {
  const rest = new Map(tried.value);
  for (const id of ids) rest.delete(id);
  tried.value = rest;
}

/** What a person can do to one card: the same for its buttons and for the keyboard. Reads without watching: the card watches its own. */
export class Hand {
  constructor(
    private readonly scope: PanelScope,
    readonly card: PendingCard,
  ) {}

  get draft(): Draft {
    return readDraft(this.scope.desk.drafts.peek()[this.card.id]);
  }

  get busy(): boolean {
    return this.scope.desk.sent.peek().has(this.card.id);
  }

  /** Change the draft. Another decision takes back that the card was chosen; what is typed for the same one does not. */
  change(change: Partial<Draft>): void {
    if (this.busy) return;
    const { chosen, ...rest } = this.draft;
    const stays = chosen && (change.decision === undefined || change.decision === rest.decision);
    this.scope.desk.setDraft(this.card.id, writeDraft({ ...rest, ...(stays ? { chosen } : {}), ...change }));
  }

  /** Undo a choice and close what is open; what was typed is kept for when it is opened again. */
  takeBack(): void {
    const { decision } = this.draft;
    if (decision !== null) this.change({ decision: decision === "reply" ? "reply" : null, chosen: undefined });
  }

  /** A button that needs nothing more: sent at once, or chosen where decisions go together. */
  press(choice: Choice): void {
    if (this.scope.together.value) this.choose(choice);
    else this.send(choice);
  }

  /** Decide, and leave it to be sent with the others. Pressing the same again takes it back. */
  choose(choice: Choice): void {
    if (this.busy) return;
    const { draft } = this;
    if (draft.chosen && draft.decision === choice) {
      this.takeBack();
      return;
    }
    if (decide(this.card, draft, choice).ok) this.change({ decision: choice, chosen: true });
    else this.tried(choice);
  }

  /** Send this card alone, now. */
  send(choice: Choice): void {
    if (this.busy) return;
    const outcome = decide(this.card, this.draft, choice);
    if (outcome.ok) {
      this.settled();
      this.scope.desk.submit([outcome.decision]);
    } else {
      this.tried(choice);
    }
  }

  /** Send an answer that does not fit: the tool decides and the model sees its error (W2.8). */
  sendAnyway(choice: Choice): void {
    if (this.busy) return;
    const outcome = decide(this.card, this.draft, choice);
    const decision = outcome.ok ? outcome.decision : outcome.optional;
    if (decision === null) return;
    this.settled();
    this.scope.desk.submit([decision]);
  }

  private tried(choice: Choice): void {
    if (this.draft.decision !== choice) this.change({ decision: choice });
    noteTried(this.scope, [this.card.id]);
  }

  private settled(): void {
    forgetTried(this.scope, [this.card.id]);
  }
}
