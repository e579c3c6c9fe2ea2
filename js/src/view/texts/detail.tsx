import type { OpenedText, TextReason, TextVerdictView } from "../../wire/texts";
import { TextDiff } from "../diff_view";
import { Block, Plain } from "../text";
import { clockText } from "../time";
import { draftOf, type TextsDesk } from "./desk";
import { decide, noteOf, startWriting } from "./keys";
import { MARK_WORDS, numberText } from "./words";
import { Edit, Note } from "./writing";

interface DetailProps {
  desk: TextsDesk;
  prefix: string;
  /** Give the keyboard to the list: what had it may be gone with the text, and then it would be the notebook's. */
  onDone: () => void;
}

/** The text that is open: what was refused and why, and the buttons that decide. */
export function Detail({ desk, prefix, onDone }: DetailProps) {
  const opened = desk.opened.value;
  if (desk.current.value === null) return null;
  if (opened === null) return <div class="llm4s-texts-detail llm4s-is-loading" data-testid="texts-detail" aria-busy="true" />;
  const late = opened.position !== desk.current.value;
  const draft = draftOf(desk, opened.position);
  const closed = desk.connection.value === "lost";
  return (
    <article
      class={`llm4s-texts-detail${late ? " llm4s-is-late" : ""}`}
      data-testid="texts-detail"
      data-position={opened.position}
      aria-label={`Text ${opened.id}`}
      aria-busy={late}
    >
      <h3 class="llm4s-heading">
        <Plain text={opened.id} />
        <Standing opened={opened} />
      </h3>
      <ul class="llm4s-texts-reasons">
        {opened.reasons.map((reason) => (
          <Reason key={`${reason.did} ${reason.guardrail}`} reason={reason} />
        ))}
      </ul>
      <Block key={opened.position} text={opened.text} label="The text" kind={opened.outcome === "refused" ? "llm4s-refused" : ""} />
      {opened.cut > 0 && (
        <p class="llm4s-hint">{`… and ${numberText(opened.cut)} more characters. Edit it in code: review.decide(…, GuardrailVerdict.edit(…)).`}</p>
      )}
      {opened.made_of_it !== null && (
        <div class="llm4s-change">
          <h4 class="llm4s-small-head">What the guardrails made of it</h4>
          <TextDiff before={opened.text} after={opened.made_of_it} />
        </div>
      )}
      {opened.verdict !== null && <Verdict verdict={opened.verdict} />}
      {opened.mark !== "none" && (
        <div class="llm4s-actions">
          <Act
            testid="allow"
            keys="a"
            closed={closed}
            late={late}
            pressed={opened.mark === "allow"}
            title="A false alarm: this text may go out"
            onAct={() => decide(desk, "allow") && onDone()}
          >
            Allow
          </Act>
          <Act
            testid="block"
            keys="b"
            closed={closed}
            late={late}
            pressed={opened.mark === "block"}
            title="Refused rightly"
            onAct={() => decide(desk, "block") && onDone()}
          >
            Block
          </Act>
          <Act
            testid="edit"
            keys="e"
            closed={closed || opened.cut > 0}
            late={late}
            pressed={opened.mark === "edit"}
            expanded={draft.editing}
            title="Write what should stand in its place"
            onAct={() => toggle(desk, opened, "editing")}
          >
            Edit…
          </Act>
          <Act testid="note" keys="n" closed={closed} late={late} expanded={draft.noting} onAct={() => toggle(desk, opened, "noting")}>
            Note…
          </Act>
        </div>
      )}
      {draft.editing && (
        <Edit
          key={`edit ${opened.position}`}
          desk={desk}
          prefix={prefix}
          opened={opened}
          closed={closed || late}
          onSave={(text) => {
            if (desk.decide("edit", text, noteOf(desk))) onDone();
          }}
        />
      )}
      {draft.noting && (
        <Note
          key={`note ${opened.position}`}
          desk={desk}
          prefix={prefix}
          opened={opened}
          closed={closed || late}
          onSave={() => {
            const given = opened.verdict;
            if (given !== null) desk.decide(given.verdict, given.text, noteOf(desk));
            onDone();
          }}
        />
      )}
    </article>
  );
}

function toggle(desk: TextsDesk, opened: OpenedText, what: "editing" | "noting"): void {
  const draft = draftOf(desk, opened.position);
  if (draft[what]) desk.setDraft(opened.position, { ...draft, [what]: false });
  else startWriting(desk, what);
}

const OUTCOMES: Readonly<Record<OpenedText["outcome"], string>> = {
  refused: "refused",
  error: "a guardrail failed",
  passed: "passes",
  unchecked: "not checked yet",
};

function Standing({ opened }: { opened: OpenedText }) {
  const changed = opened.before !== null && opened.before !== opened.outcome;
  return (
    <span class="llm4s-texts-standing">
      <span class={`llm4s-tag llm4s-texts-outcome llm4s-is-${opened.outcome}`}>{OUTCOMES[opened.outcome]}</span>
      {changed && opened.before !== null && <span class="llm4s-hint">{`before: ${OUTCOMES[opened.before]}`}</span>}
    </span>
  );
}

const DID: Readonly<Record<TextReason["did"], string>> = { refused: "refuses: ", error: "failed: ", fixed: "changed it" };

function Reason({ reason }: { reason: TextReason }) {
  return (
    <li class={`llm4s-texts-reason llm4s-is-${reason.did}`}>
      <strong>
        <Plain text={reason.guardrail} />
      </strong>
      {` ${DID[reason.did]}`}
      <Plain text={reason.reason} />
    </li>
  );
}

function Verdict({ verdict }: { verdict: TextVerdictView }) {
  const { glyph, word } = MARK_WORDS[verdict.verdict];
  const by = verdict.by === null ? "" : ` by ${verdict.by}`;
  return (
    <div class={`llm4s-texts-verdict llm4s-is-${verdict.verdict}`} data-testid="texts-verdict">
      <p>
        <span aria-hidden="true">{`${glyph} `}</span>
        <Plain text={`${word}${by}, ${clockText(verdict.at_ms, Date.now())}`} />
      </p>
      {verdict.note !== null && (
        <p>
          Note: <Plain text={verdict.note} />
        </p>
      )}
      {verdict.text !== null && <Block text={verdict.text} label="The text in its place" />}
    </div>
  );
}

interface ActProps {
  testid: string;
  keys: string;
  closed: boolean;
  /** The text has not come yet: keeps its place and focus, and does nothing. */
  late: boolean;
  pressed?: boolean;
  expanded?: boolean;
  title?: string;
  onAct: () => void;
  children: string;
}

function Act({ testid, keys, closed, late, pressed, expanded, title, onAct, children }: ActProps) {
  return (
    <button
      type="button"
      class="llm4s-button"
      data-testid={testid}
      disabled={closed}
      aria-disabled={late ? "true" : undefined}
      aria-pressed={pressed}
      aria-expanded={expanded}
      aria-keyshortcuts={keys}
      title={title}
      // The second click of a double click would decide the next text.
      onClick={(event) => event.detail < 2 && !late && onAct()}
    >
      {children} <kbd class="llm4s-texts-key">{keys}</kbd>
    </button>
  );
}
