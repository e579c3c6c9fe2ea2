import type { Json } from "../../wire/index";
import { Scroll } from "../scroll";
import { Value } from "../value";
import { AnswerEditor } from "./answer_editor";
import { Arguments } from "./arguments";
import type { BodyProps } from "./body";
import { answerSchema, answerValue } from "./decide";
import { SendRow } from "./send_row";

/** A tool's or a middleware's question, and a form made from the type of its answer (W2.3). */
export function QuestionBody({ card, hand, closed, readOnly }: BodyProps) {
  return (
    <div class="llm4s-body">
      <Scroll class="llm4s-data llm4s-question" label="Question">
        <Value value={card.question as Json} />
      </Scroll>
      {card.arguments !== null && (
        <details class="llm4s-details">
          <summary>The call's arguments</summary>
          <Arguments value={card.arguments as Json} />
        </details>
      )}
      {!readOnly && (
        <div class="llm4s-editor">
          <AnswerEditor
            card={card}
            hand={hand}
            closed={closed}
            choice="reply"
            field="value"
            schema={answerSchema(card)}
            value={answerValue(card, hand.draft)}
            label="answer"
          />
          <SendRow card={card} hand={hand} closed={closed} readOnly={readOnly} choice="reply" label="Send answer" look="primary" />
        </div>
      )}
    </div>
  );
}
