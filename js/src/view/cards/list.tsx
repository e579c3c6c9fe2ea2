import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { PendingCard } from "../../wire/index";
import { Guarded } from "../guarded";
import { oneLine } from "../unseen";
import { Card } from "./card";
import { type PanelScope, usePanel } from "./context";
import { groupsOf } from "./groups";
import { cardElement, cardOf } from "./keys";
import { DRAWN, Heights, piecesOf, startFor, WHOLE } from "./window";

/**
 * The cards under their headings (W2.1). A long list scrolls in its own box and draws the cards that are near, and the ones somebody is
 * in or on the way to; the others are as much empty room. What is seen stays where it is while cards around it come, go and grow.
 */
export function CardList({ pending }: { pending: readonly PendingCard[] }) {
  const scope = usePanel();
  const groups = groupsOf(pending);
  const cards = groups.flatMap((group) => group.cards);
  const ids = cards.map((card) => card.id);
  const long = cards.length > WHOLE;
  const box = useRef<HTMLDivElement>(null);
  const heights = useRef(new Heights()).current;
  const { start, follow } = useWindow(box, ids, heights, long);
  useWanted(box, scope);
  const focused = cardOf((box.current?.getRootNode() as Document | ShadowRoot | undefined)?.activeElement ?? null);
  let from = 0;
  return (
    <div class={long ? "llm4s-list llm4s-list-long" : "llm4s-list"} ref={box} onScroll={long ? follow : undefined} data-testid="card-list">
      {groups.map((group) => {
        const first = from;
        from += group.cards.length;
        const pieces = piecesOf(ids, first, from, start, [focused, scope.wanted.value]);
        const drawn = pieces.some((piece) => "index" in piece);
        return (
          <section key={group.kind} class="llm4s-cards" aria-label={`${group.heading}: ${group.cards.length}`}>
            <h4 class="llm4s-group-head">
              {group.heading} <span class="llm4s-count">{group.cards.length}</span>
            </h4>
            <div class="llm4s-feed" {...(drawn ? { role: "feed" as const, "aria-label": group.heading } : {})}>
              {pieces.map((piece) => {
                if ("gap" in piece)
                  return <div key={`before ${piece.gap.at(-1)}`} style={{ height: `${heights.together(piece.gap)}px` }} />;
                const card = cards[piece.index] as PendingCard;
                return (
                  <Guarded key={card.id} what={`The card "${oneLine(card.title)}" (${oneLine(card.id)})`}>
                    <Card card={card} place={piece.index - first + 1} of={group.cards.length} />
                  </Guarded>
                );
              })}
            </div>
          </section>
        );
      })}
    </div>
  );
}

/** The window of a long list, kept by the card it begins with, so that cards that leave before it do not move it. */
function useWindow(box: { current: HTMLDivElement | null }, ids: readonly string[], heights: Heights, long: boolean) {
  const [from, setFrom] = useState<{ id: string; index: number }>({ id: "", index: 0 });
  const found = ids.indexOf(from.id);
  const start = Math.max(0, Math.min(found >= 0 ? found : from.index, ids.length - DRAWN));
  const seen = useRef<{ id: string; top: number } | null>(null);

  /** Pixels from the top of the list: a scroll by the person does not change them. */
  const topOf = (card: HTMLElement, list: HTMLElement) =>
    card.getBoundingClientRect().top - list.getBoundingClientRect().top + list.scrollTop;
  const note = (list: HTMLElement) => {
    const cards = [...list.querySelectorAll<HTMLElement>("[data-card]")];
    for (const card of cards) heights.note(card.dataset.card ?? "", card.offsetHeight);
    const end = list.scrollTop + list.clientHeight;
    const first = cards.find((card) => topOf(card, list) + card.offsetHeight > list.scrollTop && topOf(card, list) < end);
    seen.current = first === undefined ? null : { id: first.dataset.card ?? "", top: topOf(first, list) };
  };
  useLayoutEffect(() => {
    const list = box.current;
    if (!long || list === null) return;
    const before = seen.current;
    const same = before === null ? null : cardElement(list, before.id);
    if (before !== null && same !== null) {
      const moved = topOf(same, list) - before.top;
      if (Math.abs(moved) > 1) list.scrollTop += moved;
    }
    note(list);
  });
  const follow = () => {
    const list = box.current;
    if (list === null) return;
    note(list);
    // Where none that is drawn is seen, the person has gone far: the place tells about which card is there.
    const first = seen.current === null ? heights.at(ids, list.scrollTop) : ids.indexOf(seen.current.id);
    const next = startFor(first, start, ids.length);
    const id = ids[next];
    if (next !== start && id !== undefined) setFrom({ id, index: next });
  };
  return { start, follow };
}

/** Put the focus on the card that is wanted as soon as it is drawn. */
function useWanted(box: { current: HTMLDivElement | null }, { wanted }: PanelScope): void {
  const id = wanted.value;
  useLayoutEffect(() => {
    if (id === null || box.current === null) return;
    cardElement(box.current, id)?.focus();
    wanted.value = null;
  }, [id]);
}
