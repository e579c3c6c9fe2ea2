/** The first letter is of a script that is written from right to left: Hebrew, Arabic and their neighbours. */
const RIGHT_TO_LEFT = /^[^\p{L}]*(?=\p{L})[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;

/**
 * Where a field's text begins, by its first letter. A browser's own `dir="auto"` stands still over a long text: 15 s to 75 s for five
 * million letters that were pasted, where a field with a direction takes 3 s.
 */
export const directionOf = (text: string): "rtl" | "ltr" => (RIGHT_TO_LEFT.test(text) ? "rtl" : "ltr");
