interface HelpProps {
  keys: readonly [string, string][];
  /** What the keys work in, as in "Keys of this panel". */
  place: string;
  onClose: () => void;
}

/** The keys of a widget, opened with `?`. */
export function Help({ keys, place, onClose }: HelpProps) {
  return (
    <section class="llm4s-help" aria-label={`Keys of this ${place}`}>
      {keys.map(([key, does]) => (
        <div key={key} class="llm4s-key-row">
          <span>
            <kbd>{key}</kbd>
          </span>
          <span>{does}</span>
        </div>
      ))}
      <p class="llm4s-hint">They work while the focus is in this {place} and not in a text field.</p>
      <button type="button" class="llm4s-button llm4s-small" onClick={onClose}>
        Close
      </button>
    </section>
  );
}
