import { useState } from "preact/hooks";
import { lazy } from "../parts/lazy.tsx";

/** Loaded when the section is opened. */
const NodeFilesView = lazy(() => import("./node-files.tsx"));

/** The files of a running node. @param node its key */
export function FilesSection({ lab, node }: { readonly lab: string; readonly node: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Files</summary>
      {open && <NodeFilesView lab={lab} node={node} />}
    </details>
  );
}
