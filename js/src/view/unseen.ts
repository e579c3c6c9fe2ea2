/**
 * Characters that are not seen, or that change what is seen of others: controls, direction marks, zero-width and filler characters, tags,
 * lone surrogates, and marks stacked on one letter beyond reason. Joiners stay where scripts and emoji are written with them, and so does
 * the mark that makes a symbol an emoji; between Latin letters they only tell two equal-looking words apart. Matches whole runs.
 */
export const UNSEEN =
  /(?:(?![\t\n\r])\p{Cc}|[\p{Cs}\u2028\u2029\u2800]|(?!(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f|(?![\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}])[\p{L}\p{M}])[\u200c\u200d]|(?<=\p{Emoji})[\ufe0e\ufe0f])[\p{Cf}\p{DI}]|(?<=\p{Mn}{6})\p{Mn})+/gu;

/** So many of a run are named, the others counted. */
const NAMED = 3;

/** What stands in the place of a run: the numbers of the first few, and how many more there are. */
export function marks(run: string): string {
  const codes = Array.from(run, (one) => `U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`);
  return codes.length > NAMED ? `${codes.slice(0, NAMED).join(" ")} +${codes.length - NAMED}` : codes.join(" ");
}

/** A text for a place that takes no elements, such as an option of a list: what is not seen is named. */
const visible = (text: string): string => text.replaceAll(UNSEEN, (run) => `[${marks(run)}]`);

/** A short text for a place that takes no elements, such as the name of a region: on one line, cut, with what is not seen named. */
export function oneLine(text: string, limit = 80): string {
  const line = visible(cut(text, limit).replaceAll(/\s+/g, " "));
  return text.length > limit ? `${line}…` : line;
}

/** The first `limit` units of a text, never half a character. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? limit - 1 : limit);
}
