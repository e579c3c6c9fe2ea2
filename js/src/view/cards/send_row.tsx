import { Act } from "./act";
import type { BodyProps } from "./body";
import { usePanel } from "./context";
import { decide } from "./decide";
import type { Choice } from "./draft";

interface SendRowProps extends BodyProps {
  choice: Choice;
  label: string;
  look: "primary" | "danger";
}

/** Send what was filled in: at once or, where decisions go together, chosen for the common submit. Says when an answer does not fit. */
export function SendRow({ card, hand, closed, choice, label, look }: SendRowProps) {
  const { together, tried } = usePanel();
  const { draft, busy } = hand;
  const chosen = draft.chosen === true && draft.decision === choice;
  const outcome = decide(card, draft, choice);
  const misfit = tried.value.has(card.id) && !outcome.ok && outcome.optional !== null;
  return (
    <div class="llm4s-send">
      {misfit && (
        <p class="llm4s-warning" role="status">
          This does not fit what the tool expects. Sent as it is, it becomes the call's error result, which the model reads.
        </p>
      )}
      <div class="llm4s-actions">
        {together.value && (
          <Act
            name={`choose ${choice}`}
            of={card.id}
            testid="choose"
            look={look}
            pressed={chosen}
            busy={busy}
            disabled={closed}
            onAct={() => hand.choose(choice)}
          >
            {chosen ? "Chosen" : "Choose"}
          </Act>
        )}
        <Act
          name={`send ${choice}`}
          of={card.id}
          testid="submit-card"
          look={together.value ? undefined : look}
          busy={busy}
          disabled={closed}
          onAct={() => hand.send(choice)}
        >
          {together.value ? `${label} now` : label}
        </Act>
        {misfit && (
          <Act
            name="anyway"
            of={card.id}
            testid="send-anyway"
            look="danger"
            busy={busy}
            disabled={closed}
            onAct={() => hand.sendAnyway(choice)}
          >
            Send as it is
          </Act>
        )}
      </div>
    </div>
  );
}
