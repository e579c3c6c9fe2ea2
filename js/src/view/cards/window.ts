/** Up to so many cards are all drawn; a longer list scrolls in a box of its own and draws only what is near. */
export const WHOLE = 40;
/** So many cards of a long list are drawn, some of them before the first one that is seen. */
export const DRAWN = 24;
const BEFORE = 6;
/** The window moves when the first seen card has gone this far from where it was. */
const SLACK = 3;
/** The height of a card that was never drawn, while none was, and the gap below each (as the style sheet has it), in pixels. */
const GUESS = 170;
const GAP = 8;

/** Heights of cards by id, as far as they were drawn; the others are taken to be as high as these are on average. */
export class Heights {
  private readonly known = new Map<string, number>();
  private sum = 0;

  note(id: string, height: number): void {
    if (height <= 0) return;
    this.sum += height - (this.known.get(id) ?? 0);
    this.known.set(id, height);
  }

  of(id: string): number {
    return (this.known.get(id) ?? (this.known.size > 0 ? this.sum / this.known.size : GUESS)) + GAP;
  }

  /** Pixels that these cards take, the gap after the last left out. */
  together(ids: readonly string[]): number {
    return ids.reduce((sum, id) => sum + this.of(id), -GAP);
  }

  /** The index of the card that is this many pixels below the first one's top. */
  at(ids: readonly string[], pixels: number): number {
    let index = 0;
    for (let left = pixels; index < ids.length - 1; index += 1) {
      left -= this.of(ids[index] ?? "");
      if (left < 0) break;
    }
    return index;
  }
}

/** Where the window begins when `seen` is the first card that is seen; where it was, while that will do. */
export function startFor(seen: number, start: number, count: number): number {
  const best = Math.max(0, Math.min(seen - BEFORE, count - DRAWN));
  return Math.abs(best - start) < SLACK && best !== 0 && best !== count - DRAWN ? start : best;
}

/** A card that is drawn, by its index, or the ids of those in between that are not. */
export type Piece = { index: number } | { gap: readonly string[] };

/** What is drawn of the cards from `from` to `to`: the window, and single cards that must not go because somebody is in them. */
export function piecesOf(ids: readonly string[], from: number, to: number, start: number, kept: readonly (string | null)[]): Piece[] {
  const pieces: Piece[] = [];
  let gap: string[] = [];
  for (let index = from; index < to; index += 1) {
    const id = ids[index] ?? "";
    if (ids.length > WHOLE && (index < start || index >= start + DRAWN) && !kept.includes(id)) {
      gap.push(id);
      continue;
    }
    if (gap.length > 0) pieces.push({ gap });
    gap = [];
    pieces.push({ index });
  }
  return gap.length > 0 ? [...pieces, { gap }] : pieces;
}
