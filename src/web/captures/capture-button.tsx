import { useContext, useState } from "preact/hooks";
import { Problem } from "../parts/problem.tsx";
import { goTo } from "../parts/route.ts";
import { useFeature } from "../parts/use-feature.ts";
import { call } from "../service/api.ts";
import { CaptureAddresses } from "./capture-routes.ts";

interface CaptureButtonProps {
  readonly lab: string;
  /** Key of the node. */
  readonly node: string;
  readonly port: string;
  readonly class?: string;
}

/** Starts a capture of an interface, and opens its page. Empty if the host does not support captures. */
export function CaptureButton({ lab, node, port, class: className }: CaptureButtonProps) {
  const addresses = useContext(CaptureAddresses);
  const { data: isSupported } = useFeature("capture");
  const [state, setState] = useState<{ readonly busy?: boolean; readonly error?: unknown }>({});
  if (isSupported !== true) return null;
  const start = async () => {
    setState({ busy: true });
    try {
      const { capture } = await call("startCapture", { lab, node, interface: port });
      goTo(addresses.one(capture));
      setState({});
    } catch (error) {
      setState({ error });
    }
  };
  return (
    <>
      <button type="button" class={className} disabled={state.busy === true} onClick={() => void start()}>
        Capture
        <span class="visually-hidden">
          {" "}
          {node}:{port}
        </span>
      </button>
      {state.error !== undefined && <Problem error={state.error} />}
    </>
  );
}
