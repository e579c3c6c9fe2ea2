import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { TextRow } from "../../wire/texts";
import { Plain } from "../text";
import type { TextsDesk } from "./desk";
import { LIST_PX, ROW_PX, scrolledTo, windowOf } from "./window";
import { MARK_WORDS, textsText } from "./words";

/** The texts that the filter finds. Only rows that are seen, and a few around them, are in the page, however many there are. */
export function List({ desk, prefix }: { desk: TextsDesk; prefix: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [scrolled, setScrolled] = useState(0);
  const [height, setHeight] = useState(LIST_PX);
  const found = desk.found.value;
  const positions = found?.positions ?? [];
  const current = desk.current.value;
  const { from, to } = windowOf(positions.length, scrolled, height);
  const drawn = positions.slice(from, to);
  useEffect(() => desk.want(drawn), [desk, found, from, to]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    if (element.clientHeight > 0) setHeight(element.clientHeight);
    const place = current === null ? undefined : found?.places.get(current);
    if (place === undefined) return;
    const top = scrolledTo(place, element.scrollTop, element.clientHeight || height);
    if (top === element.scrollTop) return;
    element.scrollTop = top;
    setScrolled(top);
  }, [current, found]);
  if (found !== null && positions.length === 0) return <Empty desk={desk} />;
  const optionId = (position: number) => `${prefix}text-${position}`;
  const shown = current !== null && drawn.includes(current);
  return (
    <div
      ref={box}
      class="llm4s-texts-list"
      data-testid="texts-list"
      role="listbox"
      tabIndex={0}
      aria-label={`Texts, ${textsText(positions.length)}`}
      aria-activedescendant={shown ? optionId(current) : undefined}
      style={{ height: `${Math.min(LIST_PX, Math.max(1, positions.length) * ROW_PX)}px` }}
      onScroll={(event) => setScrolled(event.currentTarget.scrollTop)}
    >
      <div class="llm4s-texts-rows" role="presentation" style={{ height: `${positions.length * ROW_PX}px` }}>
        {drawn.map((position, index) => (
          <Row
            key={position}
            id={optionId(position)}
            desk={desk}
            position={position}
            place={from + index}
            count={positions.length}
            row={desk.rows.value.get(position)}
            onPick={() => {
              desk.select(position);
              box.current?.focus({ preventScroll: true });
            }}
          />
        ))}
      </div>
    </div>
  );
}

interface RowProps {
  desk: TextsDesk;
  id: string;
  position: number;
  place: number;
  count: number;
  row: TextRow | undefined;
  /** Open it, and leave the keyboard with the list: a row may go from the page while it has the focus. */
  onPick: () => void;
}

function Row({ desk, id, position, place, count, row, onPick }: RowProps) {
  const mark = desk.marks.value.get(position) ?? "none";
  const selected = desk.current.value === position;
  const { glyph, word } = MARK_WORDS[mark];
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the focus, and its keys are the review's
    <div
      id={id}
      class={`llm4s-texts-row llm4s-is-${mark}${desk.sending.value.has(position) ? " llm4s-is-sending" : ""}`}
      data-testid="texts-row"
      data-position={position}
      data-mark={mark}
      role="option"
      aria-selected={selected}
      aria-setsize={count}
      aria-posinset={place + 1}
      tabIndex={-1}
      style={{ transform: `translateY(${place * ROW_PX}px)` }}
      onClick={onPick}
    >
      <span class="llm4s-texts-mark" title={word} aria-hidden="true">
        {glyph}
      </span>
      <span class="llm4s-texts-line">
        <span class="llm4s-sr">{`${word}: `}</span>
        {row === undefined ? "…" : <Plain text={row.excerpt} />}
      </span>
      <span class="llm4s-texts-under">
        {row !== undefined && <Plain text={row.guardrail === null ? row.id : `${row.id} · ${row.guardrail}`} />}
      </span>
    </div>
  );
}

function Empty({ desk }: { desk: TextsDesk }) {
  const state = desk.state.value;
  if (state === null) return null;
  const filter = desk.filter.value;
  const filtered = filter.guardrail !== null || filter.verdict !== "any" || filter.search !== "";
  const said =
    state.total === 0
      ? "There are no texts."
      : state.checked === 0
        ? "Nothing is checked yet: run the guardrails."
        : filtered || filter.show !== "refused"
          ? "No text is found here."
          : state.running
            ? "Nothing is refused so far."
            : "Nothing is refused.";
  return (
    <p class="llm4s-hint" data-testid="texts-empty">
      {said}
    </p>
  );
}
