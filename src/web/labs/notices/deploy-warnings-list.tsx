import { useState } from "preact/hooks";
import { keepWarnings, keptWarnings } from "./deploy-warnings.ts";

/** Shows the warnings of the deploy of a lab, until the user closes it. */
export function DeployWarnings({ lab }: { readonly lab: string }) {
  const [warnings, setWarnings] = useState(() => keptWarnings(lab));
  if (warnings.length === 0) return null;
  const close = () => {
    keepWarnings(lab);
    setWarnings([]);
  };
  return (
    <section class="notice deploy-warnings" aria-label="Warnings of the deploy">
      <strong>The lab is deployed, with {warnings.length === 1 ? "1 warning" : `${warnings.length} warnings`}.</strong>
      <ul role="status">
        {warnings.map(({ code, node, message }) => (
          <li key={`${code} ${node} ${message}`}>
            {node}: {message}
          </li>
        ))}
      </ul>
      <button type="button" onClick={close}>
        Close
      </button>
    </section>
  );
}
