import { useState } from "preact/hooks";
import { call } from "../service/api.ts";
import { Problem } from "../parts/problem.tsx";
import { useFeature } from "../parts/use-feature.ts";
import { goTo } from "../parts/route.ts";

interface CaptureButtonProps {
  readonly lab: string;
  /** Key of a node, and one of its interfaces. */
  readonly node: string;
  readonly port: string;
  readonly class?: string;
}

/** Captures all packets of an interface and shows them. Nothing where the host cannot. */
export function CaptureButton({ lab, node, port, class: look }: CaptureButtonProps) {
  const { data: able } = useFeature("capture");
  const [state, setState] = useState<{ readonly busy?: boolean; readonly error?: unknown }>({});
  if (able !== true) return null;
  const start = async () => {
    setState({ busy: true });
    try {
      const { capture } = await call("startCapture", { lab, node, interface: port });
      goTo({ page: "capture", capture });
    } catch (error) {
      setState({ error });
    }
  };
  return (
    <>
      <button type="button" class={look} disabled={state.busy === true} onClick={() => void start()}>
        Capture
        <span class="unseen">
          {" "}
          {node}:{port}
        </span>
      </button>
      {state.error !== undefined && <Problem error={state.error} />}
    </>
  );
}
