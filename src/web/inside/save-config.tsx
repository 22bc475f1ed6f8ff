import { useState } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import { Problem } from "../parts/problem.tsx";
import { useFeature } from "../parts/use-feature.ts";
import { call } from "../service/api.ts";

interface SaveConfigProps {
  readonly lab: string;
  /** Key of the node. */
  readonly node: string;
  /** Called after the configuration was saved. */
  readonly onSaved: () => void;
}

/** Saves the running configuration of a node as its startup configuration. Empty if the host cannot save. */
export function SaveConfig({ lab, node, onSaved }: SaveConfigProps) {
  const { data: isSupported } = useFeature("saveConfigs");
  const [state, setState] = useState<{ readonly busy?: boolean; readonly notice?: string; readonly error?: unknown }>({});
  if (isSupported !== true) return null;
  const save = async () => {
    setState({ busy: true });
    try {
      const { nodes } = await call("saveConfigs", { lab, node });
      const [saved] = nodes;
      if (saved?.error !== undefined) throw new LabwrightError(saved.error, { status: 502, code: "host_error" });
      setState({ notice: saved?.outcome === "unchanged" ? "It was saved already." : "Saved as the node's startup configuration." });
    } catch (error) {
      setState({ error });
    }
    onSaved();
  };
  return (
    <>
      <div class="buttons">
        <button type="button" disabled={state.busy === true} onClick={() => void save()}>
          Save running configuration
        </button>
        <output>{state.busy === true ? "Saving…" : state.notice}</output>
      </div>
      {state.error !== undefined && <Problem error={state.error} />}
    </>
  );
}
