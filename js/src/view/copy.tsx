import { useEffect, useRef, useState } from "preact/hooks";

interface CopyProps {
  label: string;
  testid: string;
  /** The text, made when it is asked for; or why there is none. */
  make: () => { text: string } | { problem: string };
}

type Outcome = { done: true } | { text: string } | { problem: string };

/** Copies a text. Where the page may not use the clipboard, the text is shown, selected, for the person to copy. */
export function Copy({ label, testid, make }: CopyProps) {
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const done = outcome !== null && "done" in outcome;
  useEffect(() => {
    area.current?.focus();
    area.current?.select();
    if (!done) return;
    const timer = setTimeout(() => setOutcome(null), 2000);
    return () => clearTimeout(timer);
  }, [outcome, done]);
  const copy = async () => {
    const made = make();
    setOutcome("problem" in made || !(await written(made.text)) ? made : { done: true });
  };
  return (
    <span class="llm4s-copy">
      <button type="button" class="llm4s-button llm4s-quiet llm4s-small" data-testid={testid} onClick={copy}>
        {done ? "Copied" : label}
      </button>
      {outcome !== null && "problem" in outcome && (
        <span class="llm4s-fault" role="status">
          {outcome.problem}
        </span>
      )}
      {outcome !== null && "text" in outcome && (
        <textarea
          ref={area}
          class="llm4s-input llm4s-json"
          data-testid="copy-by-hand"
          aria-label={`${label}: copy this with Ctrl+C, Escape closes`}
          rows={3}
          readOnly
          value={outcome.text}
          onBlur={() => setOutcome(null)}
        />
      )}
    </span>
  );
}

async function written(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
