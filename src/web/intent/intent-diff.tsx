import { DiffView } from "./diff-view.tsx";

/** A lab's text, and the files that it names, by path. */
export interface IntentText {
  readonly yaml: string;
  readonly files: Readonly<Record<string, string>>;
}

export function sameIntent(a: IntentText, b: IntentText): boolean {
  return a.yaml === b.yaml && changedFiles(a, b).length === 0;
}

/** What changed from one intent to another: its text, and each file that differs. */
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

function changedFiles({ files: a }: IntentText, { files: b }: IntentText): readonly string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((path) => a[path] !== b[path]).sort();
}
