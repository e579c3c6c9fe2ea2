/** Height of a row in the list, in pixels; the style sheet gives rows this height. */
export const ROW_PX = 46;
/** Height of the list where nothing says how high it is. */
export const LIST_PX = 414;
/** Rows drawn beyond what is seen, above and below. */
const MARGIN = 8;

/** The places drawn of a list of `count` rows: those that are seen, and a few around them. */
export function windowOf(count: number, scrollTop: number, height: number): { from: number; to: number } {
  const from = Math.max(0, Math.floor(scrollTop / ROW_PX) - MARGIN);
  const to = Math.min(count, Math.ceil((scrollTop + height) / ROW_PX) + MARGIN);
  return { from: Math.min(from, to), to };
}

/** Where to scroll so that a place is seen, as near as can be to where the list is now. */
export function scrolledTo(place: number, scrollTop: number, height: number): number {
  const top = place * ROW_PX;
  if (top < scrollTop) return top;
  return top + ROW_PX > scrollTop + height ? top + ROW_PX - height : scrollTop;
}
