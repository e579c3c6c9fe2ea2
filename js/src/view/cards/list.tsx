import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { PendingCard } from "../../wire/index";
import { Guarded } from "../guarded";
import { oneLine } from "../unseen";
import { Card } from "./card";
import { type PanelScope, usePanel } from "./context";
import { groupsOf } from "./groups";
import { cardElement, cardOf } from "./keys";
import { Heights, piecesOf, startFor, WHOLE } from "./window";

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
        return (
          <section key={group.kind} class="llm4s-cards" aria-label={`${group.heading}: ${group.cards.length}`}>
            <h4 class="llm4s-group-head">
              {group.heading} <span class="llm4s-count">{group.cards.length}</span>
            </h4>
            <div class="llm4s-feed" role="feed" aria-label={group.heading}>
              {piecesOf(ids, first, from, start, [focused, scope.wanted.value]).map((piece) => {
                if ("gap" in piece) return <div key={`before ${piece.gap.at(-1)}`} style={{ height: heights.together(piece.gap) }} />;
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
  const start = Math.max(0, found >= 0 ? found : Math.min(from.index, ids.length - 1));
  const seen = useRef<{ id: string; top: number } | null>(null);

  const drawn = () => [...(box.current?.querySelectorAll<HTMLElement>("[data-card]") ?? [])];
  const tops = (element: HTMLElement) => element.getBoundingClientRect().top - (box.current?.getBoundingClientRect().top ?? 0);
  const note = () => {
    for (const card of drawn()) heights.note(card.dataset.card ?? "", card.offsetHeight);
    const first = drawn().find((card) => tops(card) + card.offsetHeight > 0);
    // Where it is in the list, not in the box: a scroll by the person moves nothing in the list.
    seen.current = first && box.current ? { id: first.dataset.card ?? "", top: tops(first) + box.current.scrollTop } : null;
  };
  const move = () => {
    if (box.current === null) return;
    const next = startFor(heights.at(ids, box.current.scrollTop), start, ids.length);
    const id = ids[next];
    if (next !== start && id !== undefined) setFrom({ id, index: next });
  };
  useLayoutEffect(() => {
    if (!long || box.current === null) return;
    const before = seen.current;
    const same = before === null ? null : cardElement(box.current, before.id);
    if (before !== null && same !== null) {
      const moved = tops(same) + box.current.scrollTop - before.top;
      if (Math.abs(moved) > 1) box.current.scrollTop += moved;
    }
    note();
    move();
  });
  const follow = () => {
    note();
    move();
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
