import { useComputed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { PendingCard, Problem } from "../../wire/index";
import { Copy } from "../copy";
import type { Sending } from "../desk";
import { type Fact, Facts } from "../facts";
import { firstFault, isWithin } from "../focus";
import { Plain } from "../text";
import { agoText, clockText, useNow } from "../time";
import { ApprovalBody } from "./approval";
import type { BodyProps } from "./body";
import { BreakpointBody } from "./breakpoint";
import { answerLine, argumentsText } from "./code";
import { usePanel } from "./context";
import { choiceText } from "./decide";
import { NO_DRAFT } from "./draft";
import { GuardrailBody } from "./guardrail";
import { Hand } from "./hand";
import { QuestionBody } from "./question";

const NONE: readonly Problem[] = [];

/** One thing the turn waits for: what, where and since when, and what a person may do about it (W2.1); the how-manieth of its kind. */
export function Card({ card, place, of }: { card: PendingCard; place: number; of: number }) {
  const scope = usePanel();
  const { desk } = scope;
  const hand = new Hand(scope, card);
  const titleId = `${scope.prefix}title-${encodeURIComponent(card.id)}`;
  const readOnly = desk.options.read_only;
  const closed = readOnly || desk.connection.value === "lost";
  // Only what is this card's own draws it anew: typing on one card leaves the others alone.
  useComputed(() => desk.drafts.value[card.id]).value;
  const sending = useComputed(() => desk.sent.value.get(card.id)).value;
  const problems = useComputed(() => desk.problems.value[card.id]).value ?? NONE;
  const { draft } = hand;
  const article = useRef<HTMLElement>(null);
  const tried = useComputed(() => scope.tried.value.get(card.id) ?? 0).value;
  const hadProblems = problems.length > 0;
  useEffect(() => {
    // The person's own click found a fault: go to the first field that has one, unless they have gone elsewhere since.
    if ((tried > 0 || hadProblems) && isWithin(article.current)) firstFault(article.current)?.focus();
  }, [tried, hadProblems]);
  return (
    <article
      ref={article}
      class={`llm4s-card llm4s-card-${card.kind.toLowerCase()}${draft.chosen && !readOnly ? " llm4s-chosen" : ""}`}
      tabIndex={-1}
      aria-labelledby={titleId}
      aria-posinset={place}
      aria-setsize={of}
      data-testid={`card-${card.id}`}
      data-card={card.id}
      data-kind={card.kind}
    >
      <header class="llm4s-card-head">
        <div class="llm4s-card-top">
          <h5 class="llm4s-card-title" id={titleId}>
            <Plain text={card.title} />
          </h5>
          <p class="llm4s-copies">
            {card.arguments !== null && <Copy label="Copy arguments" testid="copy-arguments" make={() => argumentsText(card)} />}
            <Copy label="Copy as Python" testid="copy-python" make={() => answerLine(card, readOnly ? NO_DRAFT : hand.draft)} />
          </p>
        </div>
        <Where card={card} />
      </header>
      <Body card={card} hand={hand} closed={closed} readOnly={readOnly} />
      <CardProblems card={card} hand={hand} problems={problems} />
      {!readOnly && <CardState hand={hand} sending={sending} closed={closed} />}
    </article>
  );
}

function Body(props: BodyProps) {
  if (props.card.kind === "APPROVAL") return <ApprovalBody {...props} />;
  if (props.card.kind === "BREAKPOINT") return <BreakpointBody {...props} />;
  return props.card.guardrail === null ? <QuestionBody {...props} /> : <GuardrailBody {...props} />;
}

function Where({ card }: { card: PendingCard }) {
  const { desk } = usePanel();
  const now = useNow(desk.clockAhead.value, 30_000);
  const facts: Fact[] = [];
  const add = (name: string, value: string | null) => value !== null && facts.push({ name, value });
  add("agent", card.agent);
  add("tool", card.tool_name);
  add("asked by", card.source === "tool" ? "the tool itself" : card.source);
  add("middleware", card.middleware);
  add("hook", card.hook);
  add("node", card.node);
  if (card.phase !== null) add("held", card.phase === "BEFORE" ? "before it runs" : "after it ran");
  if (card.since_ms !== null) {
    facts.push({ name: "since", value: `${clockText(card.since_ms, now)} (${agoText(now - card.since_ms)})`, at_ms: card.since_ms });
  }
  return <Facts facts={facts} />;
}

/** The kernel's problems that no field of the card shows. */
function CardProblems({ card, hand, problems }: { card: PendingCard; hand: Hand; problems: readonly Problem[] }) {
  const { decision } = hand.draft;
  const edits = card.guardrail === null && (decision === "edit" || card.kind === "QUESTION" || card.kind === "MIDDLEWARE_QUESTION");
  const here = problems.filter((problem) => !(edits || (decision === "reject" && problem.path[0] === "reason")));
  if (here.length === 0) return null;
  return (
    <ul class="llm4s-problems">
      {here.map((problem) => (
        <li key={problem.message} class="llm4s-fault" data-testid="problem">
          <Plain text={problem.message} />
        </li>
      ))}
    </ul>
  );
}

function CardState({ hand, sending, closed }: { hand: Hand; sending: Sending | undefined; closed: boolean }) {
  const { desk, collecting } = usePanel();
  const { draft } = hand;
  if (sending !== undefined) {
    return (
      <p class="llm4s-sending">
        {sending.late ? "sent – kernel busy or not connected; it is carried out once, as soon as the kernel is free" : "sent …"}
        {sending.stuck && (
          <button type="button" class="llm4s-button llm4s-small" onClick={() => desk.sendAgain(sending.id)}>
            Send again
          </button>
        )}
      </p>
    );
  }
  if (draft.decision === null) return null;
  if (draft.chosen)
    return (
      <p class="llm4s-sending">
        {`✓ ${choiceText(draft.decision)}: chosen, not sent yet `}
        <button type="button" class="llm4s-button llm4s-small" data-testid="take-back" disabled={closed} onClick={() => hand.takeBack()}>
          Take back
        </button>
      </p>
    );
  return collecting.value ? (
    <p class="llm4s-hint" data-testid="begun">{`${choiceText(draft.decision)}: begun, not chosen; the common submit leaves it here`}</p>
  ) : null;
}
