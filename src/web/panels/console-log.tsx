import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../service/api.ts";
import { Problem } from "../parts/problem.tsx";
import { type Answer, useAnswer } from "../parts/use-answer.ts";
import { useWhileSeen } from "../parts/use-polling.ts";

interface ConsoleLogProps {
  readonly lab: string;
  /** Key of the node. */
  readonly node: string;
  readonly status: string;
}

/** How often it is read while somebody looks at it, ms. */
const lookMs = 2_000;

/** What a node's console has said since its last start; read once it is opened. */
export function ConsoleLog({ lab, node, status }: ConsoleLogProps) {
  const [open, setOpen] = useState(status === "failed");
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Console log</summary>
      {open && <Log lab={lab} node={node} status={status} />}
    </details>
  );
}

function Log({ lab, node, status }: ConsoleLogProps) {
  const { data, error, again } = useLog(lab, node);
  useWhileSeen(() => status !== "stopped" && again(), lookMs);
  useEffect(again, [status]);
  const text = useRef<HTMLPreElement>(null);
  /** Who has scrolled up reads: the end is followed only by who looks at it. */
  const atEnd = useRef(true);
  useEffect(() => {
    if (atEnd.current) text.current?.scrollTo({ top: text.current.scrollHeight });
  }, [data?.output]);
  if (data === undefined) {
    if (error === undefined) return <p class="hint">Reading…</p>;
    return <Problem error={error} retry={again} />;
  }
  if (data.output.trim() === "") return <p class="hint">Nothing was said since its last start.</p>;
  return (
    <>
      {status === "stopped" || status === "failed" ? <p class="hint">The node has ended; this is what it said last.</p> : null}
      <section class="console-log" aria-label={`Console log of ${node}`}>
        <pre
          ref={text}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keys
          tabIndex={0}
          onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
            atEnd.current = scrollTop + clientHeight >= scrollHeight - 4;
          }}
        >
          {data.output}
        </pre>
      </section>
    </>
  );
}

function useLog(lab: string, node: string): Answer<{ readonly output: string }> {
  return useAnswer((signal) => call("readConsoleLog", { lab, node }, { signal }), [lab, node]);
}
