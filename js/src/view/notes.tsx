import { useEffect, useRef, useState } from "preact/hooks";
import type { Desk } from "./desk";
import { Plain } from "./text";

/** Whether the kernel is there: silent while it is. */
export function ConnectionLine({ desk }: { desk: Pick<Desk, "connection" | "late"> }) {
  const connection = desk.connection.value;
  const text = connectionText(connection, desk.late.value);
  return (
    <p
      class={`llm4s-connection llm4s-is-${connection}`}
      data-testid="connection"
      data-connection={connection}
      role="status"
      hidden={text === ""}
    >
      {text}
    </p>
  );
}

function connectionText(connection: string, late: "sent" | "quiet" | null): string {
  if (connection === "lost") {
    return "Not connected: the kernel does not answer. Run the cells again to go on from what is stored; what you typed stays here to copy.";
  }
  if (late === "sent")
    return "Sent – kernel busy or not connected. It is carried out once, as soon as the kernel is free; what you typed is kept.";
  if (connection === "busy") return "The kernel is busy: what you send is carried out when it is free.";
  return late === "quiet" ? "Kernel busy or not connected. What you type is kept in this page." : "";
}

/** What the session wants said, and the last error with what happened, where, and what to do next. */
export function Notes({ desk }: { desk: Desk }) {
  const state = desk.state.value;
  const refusal = desk.refusal.value;
  return (
    <>
      {/* What the session says holds while its kernel lives; of a dead one the connection line says all there is to say. */}
      {state !== null && state.notice !== null && desk.connection.value !== "lost" && (
        <p class="llm4s-notice" data-testid="notice">
          <Plain text={state.notice} />
        </p>
      )}
      {refusal !== null && <Trouble {...refusal.error} testid="refusal" head="Not done" />}
      {state !== null && state.error !== null && <Trouble {...state.error} testid="error" head={state.error.type} />}
    </>
  );
}

/** An error: what happened, where, and what to do next. */
export function Trouble({
  what,
  where,
  next_step,
  head,
  testid,
}: {
  what: string;
  where: string;
  next_step: string;
  head: string;
  testid: string;
}) {
  return (
    <div class="llm4s-error" data-testid={testid} role="group" aria-label={head}>
      <p class="llm4s-error-what">
        <strong>
          <Plain text={head} />
        </strong>
        {": "}
        <Plain text={what} />
      </p>
      {where !== "" && (
        <p>
          <span class="llm4s-error-word">where</span> <Plain text={where} />
        </p>
      )}
      {next_step !== "" && (
        <p>
          <span class="llm4s-error-word">next</span> <Plain text={next_step} />
        </p>
      )}
    </div>
  );
}

/** What just happened, for those who do not see it; how a turn ended is seen in the status line, and not said to the eye twice. */
export function Live({ desk, ended = null }: { desk: Pick<Desk, "said">; ended?: string | null }) {
  return (
    <div class={ended === null ? "llm4s-live" : "llm4s-sr"} role="status" aria-live="polite" data-testid="live">
      {ended === null ? desk.said.value : <Plain text={ended} />}
    </div>
  );
}

/** The same for a turn; of one that has ended it says how, and not that it was started. */
export function TurnLive({ desk }: { desk: Pick<Desk, "said" | "state"> }) {
  const state = desk.state.value;
  const running = state?.running ?? false;
  const said = desk.said.value;
  const ran = useRef(false);
  const [ended, setEnded] = useState<string | null>(null);
  useEffect(() => setEnded(null), [said]);
  useEffect(() => {
    setEnded(ran.current && !running && state !== null && state.status !== "suspended" ? state.status_text : null);
    ran.current = running;
  }, [running]);
  return <Live desk={desk} ended={ended} />;
}
