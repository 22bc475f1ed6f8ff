import { changedFiles, type IntentText } from "./intent-text.ts";
import { SideBySide } from "./side-by-side.tsx";

interface IntentDiffProps {
  readonly before: IntentText;
  readonly after: IntentText;
  readonly titles: readonly [string, string];
}

/** Shows two intents side by side: the text, and each file that differs. */
export function IntentDiff({ before, after, titles }: IntentDiffProps) {
  const paths = changedFiles(before, after);
  return (
    <>
      {(paths.length === 0 || before.yaml !== after.yaml) && <SideBySide before={before.yaml} after={after.yaml} titles={titles} />}
      {paths.map((path) => (
        <section key={path}>
          <h3>{path}</h3>
          <SideBySide before={before.files[path] ?? ""} after={after.files[path] ?? ""} titles={titles} />
        </section>
      ))}
    </>
  );
}
