import { useMemo } from "preact/hooks";
import { lineDiff } from "../../base/line-diff.ts";

/** Number of unchanged lines shown around a difference. */
const contextLines = 3;

/** Shows the difference of two texts, line by line. */
export function DiffView({ before, after }: { readonly before: string; readonly after: string }) {
  const lines = useMemo(() => lineDiff(before.split("\n"), after.split("\n")), [before, after]);
  const near = lines.map((_line, at) =>
    lines.slice(Math.max(0, at - contextLines), at + contextLines + 1).some(({ sign }) => sign !== " "),
  );
  if (!near.includes(true)) return <p>The text did not change.</p>;
  return (
    <pre class="diff">
      {lines.map(({ sign, text }, at) => {
        // A line has no identity except its index.
        const key = at;
        if (near[at]) return <span key={key} class={sign === "+" ? "added" : sign === "-" ? "removed" : ""}>{`${sign} ${text}\n`}</span>;
        return at > 0 && near[at - 1] ? <span key={key}>{"  ⋯\n"}</span> : null;
      })}
    </pre>
  );
}
