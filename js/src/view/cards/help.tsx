import { KEYS } from "./keys";

/** The keys of the panel. */
export function Help({ onClose }: { onClose: () => void }) {
  return (
    <section class="llm4s-help" aria-label="Keys of this panel">
      {KEYS.map(([key, does]) => (
        <div key={key} class="llm4s-key-row">
          <span>
            <kbd>{key}</kbd>
          </span>
          <span>{does}</span>
        </div>
      ))}
      <p class="llm4s-hint">They work while the focus is in this panel and not in a text field.</p>
      <button type="button" class="llm4s-button llm4s-small" onClick={onClose}>
        Close
      </button>
    </section>
  );
}
