import type { OpenedText } from "../../wire/texts";
import { TextDiff } from "../diff_view";
import { directionOf } from "../direction";
import { draftOf, type TextsDesk } from "./desk";

interface WritingProps {
  desk: TextsDesk;
  prefix: string;
  opened: OpenedText;
  closed: boolean;
}

const rowsFor = (text: string) => Math.min(14, Math.max(3, text.split("\n").length + 1));

/** Write the text that should stand in the place of a refused one, with what that changes. */
export function Edit({ desk, prefix, opened, closed, onSave }: WritingProps & { onSave: (text: string) => void }) {
  const draft = draftOf(desk, opened.position);
  const text = draft.edit ?? opened.verdict?.text ?? opened.text;
  const fault = text.trim() === "" ? "A blank text blocks: block it instead." : text === opened.text ? "Nothing is changed yet." : null;
  const save = () => {
    if (!closed && fault === null) onSave(text);
  };
  const id = `${prefix}edit`;
  return (
    <div class="llm4s-editor">
      <label class="llm4s-field-name" for={id}>
        Text to use in its place
      </label>
      <textarea
        id={id}
        class="llm4s-input llm4s-textarea"
        data-testid="texts-edit"
        dir={directionOf(text)}
        rows={rowsFor(text)}
        value={text}
        aria-describedby={`${id}-fault`}
        onInput={(event) => desk.setDraft(opened.position, { ...draft, edit: event.currentTarget.value })}
        onKeyDown={(event) => onSaveKey(event, save)}
      />
      <div class="llm4s-change">
        <h4 class="llm4s-small-head">What the edit changes</h4>
        <TextDiff before={opened.text} after={text} />
      </div>
      <div class="llm4s-actions">
        <button
          type="button"
          class="llm4s-button llm4s-primary"
          data-testid="texts-save-edit"
          disabled={closed || fault !== null}
          onClick={save}
        >
          Save the edit
        </button>
        <span class="llm4s-hint" id={`${id}-fault`}>
          {fault ?? "Ctrl+Enter saves it"}
        </span>
      </div>
    </div>
  );
}

/** A note that goes with the verdict; on a text that is decided it is saved by itself. */
export function Note({ desk, prefix, opened, closed, onSave }: WritingProps & { onSave: () => void }) {
  const draft = draftOf(desk, opened.position);
  const note = draft.note ?? opened.verdict?.note ?? "";
  const id = `${prefix}note`;
  const decided = opened.verdict !== null;
  return (
    <div class="llm4s-editor">
      <label class="llm4s-field-name" for={id}>
        Note
      </label>
      <textarea
        id={id}
        class="llm4s-input llm4s-textarea"
        data-testid="texts-note"
        dir="auto"
        rows={Math.min(6, rowsFor(note) - 1)}
        value={note}
        readOnly={closed}
        aria-describedby={`${id}-hint`}
        onInput={(event) => desk.setDraft(opened.position, { ...draft, note: event.currentTarget.value })}
        onKeyDown={(event) => onSaveKey(event, onSave)}
      />
      <p class="llm4s-hint" id={`${id}-hint`}>
        {decided ? "Ctrl+Enter saves it with the verdict" : "It is saved with your verdict; Ctrl+Enter goes back to the list"}
      </p>
    </div>
  );
}

function onSaveKey(event: KeyboardEvent, save: () => void): void {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  save();
}
