import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../parts/problem.tsx";
import { type Answer, useAnswer } from "../parts/use-answer.ts";
import { usePolling } from "../parts/use-polling.ts";
import { call } from "../service/api.ts";

interface ConsoleLogProps {
  readonly lab: string;
  /** Key of the node. */
  readonly node: string;
  readonly status: string;
}

/** How often the log is read while it is visible, ms. */
const pollMs = 2_000;

/** Shows the output of a node's console since its last start. It is read when the section is opened. */
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
  usePolling(() => status !== "stopped" && again(), pollMs);
  useEffect(again, [status]);
  const text = useRef<HTMLPreElement>(null);
  /** The view follows the end of the log only if it is scrolled to the end. */
  const atEnd = useRef(true);
  useEffect(() => {
    if (atEnd.current) text.current?.scrollTo({ top: text.current.scrollHeight });
  }, [data?.output]);
  if (data === undefined) {
    if (error === undefined) return <p class="hint">Reading…</p>;
    return <Problem error={error} retry={again} />;
  }
  if (data.output.trim() === "") return <p class="hint">No output since its last start.</p>;
  return (
    <>
      {status === "stopped" || status === "failed" ? <p class="hint">The node does not run. This is its last output.</p> : null}
      <section class="console-log" aria-label={`Console log of ${node}`}>
        <pre
          ref={text}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll it
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
