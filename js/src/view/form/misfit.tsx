/** Says why a field is drawn as JSON. */
export const Misfit = ({ kind }: { kind: string }) => (
  <p class="llm4s-misfit">{`Does not fit “${kind}”, so it is shown as it is, in JSON.`}</p>
);
