import type { ComponentChildren } from "preact";
import { useErrorBoundary } from "preact/hooks";
import { Plain } from "./text";

/** What cannot be drawn says so in its place, and what is beside it stays (F33). */
export function Guarded({ what, children }: { what: string; children: ComponentChildren }) {
  const [error, again] = useErrorBoundary();
  if (error === undefined) return <>{children}</>;
  return (
    <div class="llm4s-error" data-testid="broken" role="alert">
      <p class="llm4s-error-what">
        <strong>{`${what} cannot be drawn: `}</strong>
        <Plain text={messageOf(error)} />
      </p>
      <p>
        {"It can be answered in code. "}
        <button type="button" class="llm4s-button llm4s-small" onClick={again}>
          Try again
        </button>
      </p>
    </div>
  );
}

const messageOf = (error: unknown): string => (error instanceof Error ? `${error.name}: ${error.message}` : String(error));
