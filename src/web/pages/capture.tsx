import { useEffect, useState } from "preact/hooks";
import { call } from "../api.ts";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";

const lookMs = 2_000;

/** What a capture has come to, and its packets as a file. */
export function CapturePage({ capture, mayChange }: { readonly capture: string; readonly mayChange: boolean }) {
  const { data, error, again } = useAnswer((signal) => call("getCapture", { id: capture }, { signal }), [capture]);
  const [refused, setRefused] = useState<unknown>();
  const running = data?.status === "running";
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(again, lookMs);
    return () => clearInterval(timer);
  }, [running, again]);
  if (error !== undefined) return <Problem error={error} retry={again} />;
  if (data === undefined) return <p class="waiting">Looking at the capture…</p>;
  const { node, interface: name, lab, status, reason, packets = 0, filter } = data;
  return (
    <section>
      <h1>
        Capture of {node}:{name}
      </h1>
      <p>
        In <Link to={{ page: "lab", lab, view: "topology" }}>{lab}</Link>
        {filter === undefined ? "" : `, filter ${filter}`}: {status}
        {reason === undefined ? "" : `, ${reason}`}. {packets} packets{data.truncated ? ", the oldest of them dropped" : ""}.
      </p>
      <p>
        <a href={`/api/v1/projects/captures/${encodeURIComponent(capture)}/pcapng`} download>
          Download pcapng
        </a>
      </p>
      {refused !== undefined && <Problem error={refused} />}
      {running && mayChange && (
        <button
          type="button"
          onClick={() => {
            setRefused(undefined);
            call("stopCapture", { id: capture }).then(again, setRefused);
          }}
        >
          Stop
        </button>
      )}
    </section>
  );
}
