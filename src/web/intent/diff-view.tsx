import { useMemo } from "preact/hooks";
import { lineDiff } from "../../base/line-diff.ts";

/** Lines around a difference that are shown with it. */
const around = 3;

/** What changed from one text to another, line by line. */
export function DiffView({ before, after }: { readonly before: string; readonly after: string }) {
  const lines = useMemo(() => lineDiff(before.split("\n"), after.split("\n")), [before, after]);
  const near = lines.map((_line, at) => lines.slice(Math.max(0, at - around), at + around + 1).some(({ sign }) => sign !== " "));
  if (!near.includes(true)) return <p>The text is as it was.</p>;
  return (
    <pre class="diff">
      {lines.map(({ sign, text }, at) => {
        // Lines have no other name than their place.
        const key = at;
        if (near[at]) return <span key={key} class={sign === "+" ? "added" : sign === "-" ? "removed" : ""}>{`${sign} ${text}\n`}</span>;
        return at > 0 && near[at - 1] ? <span key={key}>{"  ⋯\n"}</span> : null;
      })}
    </pre>
  );
}
