/** A field holds up the page with a longer text: at five million letters for seconds, at every key. */
export const EDITABLE = 1_000_000;

/** Stands where a field would, for a text that only code can edit. */
export function TooLong() {
  return (
    <p class="llm4s-warning" data-testid="too-long">
      This is too long to be edited in a page. Copy it as Python, and answer in code.
    </p>
  );
}
