import { useState } from "preact/hooks";
import { lazy } from "../parts/lazy.tsx";

const ShareLab = lazy(() => import("./share-lab.tsx"));

/** Opens the dialog to share a lab. */
export function ShareButton({ lab }: { readonly lab: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Share…
      </button>
      {isOpen && <ShareLab lab={lab} onClose={() => setOpen(false)} />}
    </>
  );
}
