import type { InspectedInterface } from "../../contract/schemas/observe.ts";
import { CaptureButton } from "../captures/capture-button.tsx";
import { sideWords } from "../topology/graph/quality-text.ts";

interface NodeInterfacesProps {
  readonly lab: string;
  /** Key of the node. */
  readonly node: string;
  /** It runs, and the user may look into its packets. */
  readonly mayCapture: boolean;
  readonly interfaces: readonly InspectedInterface[];
  /** Shows a link, by key. */
  readonly onLink: (key: string) => void;
}

/** The attachment points of a node, each with what it is plugged into. */
export function NodeInterfaces({ lab, node, mayCapture, interfaces, onLink }: NodeInterfacesProps) {
  if (interfaces.length === 0) return <p class="hint">None: no link of the lab ends here.</p>;
  return (
    <table class="rows">
      <tbody>
        {interfaces.map(({ name, peer, link, mac, suspended, quality }) => {
          const words = sideWords(quality ?? {});
          return (
            <tr key={name}>
              <th scope="row">
                {name}
                {mac !== undefined && <small class="mac">{mac}</small>}
              </th>
              <td>
                {link === undefined ? (
                  <small>free</small>
                ) : (
                  <button type="button" class="plain" onClick={() => onLink(link)}>
                    {peer}
                  </button>
                )}
                {suspended && <span class="mark warn">suspended</span>}
                {words !== "" && <small> sends with {words}</small>}
                {mayCapture && link !== undefined && (
                  <div>
                    <CaptureButton lab={lab} node={node} port={name} class="plain" />
                  </div>
                )}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
