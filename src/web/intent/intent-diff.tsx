import { DiffView } from "./diff-view.tsx";
import { changedFiles, type IntentText } from "./intent-text.ts";

/** Shows the difference of two intents: of the text, and of each file that differs. */
export function IntentDiff({ before, after }: { readonly before: IntentText; readonly after: IntentText }) {
  const paths = changedFiles(before, after);
  return (
    <>
      {(paths.length === 0 || before.yaml !== after.yaml) && <DiffView before={before.yaml} after={after.yaml} />}
      {paths.map((path) => (
        <section key={path}>
          <h3>{path}</h3>
          <DiffView before={before.files[path] ?? ""} after={after.files[path] ?? ""} />
        </section>
      ))}
    </>
  );
}
