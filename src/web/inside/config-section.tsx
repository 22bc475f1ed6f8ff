import { useEffect, useRef, useState } from "preact/hooks";
import { lazy } from "../parts/lazy.tsx";
import { SaveConfig } from "./save-config.tsx";

/** Loaded when the section is opened. */
const NodeConfigs = lazy(() => import("./node-configs.tsx"));

interface ConfigSectionProps {
  readonly lab: string;
  /** Key of the node, which runs. */
  readonly node: string;
  /** Opens the section when it changes; undefined: closed at first. */
  readonly opened: object | undefined;
  /** Whether the node can show its configurations. */
  readonly isReadable: boolean;
  /** Called after the configuration was saved. */
  readonly onSaved: () => void;
}

/** The configurations of a running node, and the button that saves the running one. */
export function ConfigSection({ lab, node, opened, isReadable, onSaved }: ConfigSectionProps) {
  const [open, setOpen] = useState(false);
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (opened === undefined) return;
    setOpen(true);
    details.current?.scrollIntoView({ block: "nearest" });
  }, [opened]);
  const [savedAt, setSavedAt] = useState(0);
  return (
    <details ref={details} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Configuration</summary>
      {open && isReadable && <NodeConfigs lab={lab} node={node} savedAt={savedAt} />}
      <SaveConfig
        lab={lab}
        node={node}
        onSaved={() => {
          setSavedAt((before) => before + 1);
          onSaved();
        }}
      />
    </details>
  );
}
