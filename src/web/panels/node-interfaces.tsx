import type { InspectedInterface } from "../../contract/schemas/observe.ts";
import { CaptureButton } from "../captures/capture-button.tsx";
import { sideText } from "../topology/graph/quality-text.ts";
import type { InterfaceState } from "./interface-state.ts";

interface NodeInterfacesProps {
  readonly lab: string;
  /** Key of the node. */
  readonly node: string;
  /** Whether the node runs and the user may capture its packets. */
  readonly mayCapture: boolean;
  readonly interfaces: readonly InspectedInterface[];
  readonly stateOf: (port: InspectedInterface) => InterfaceState;
  /** Selects a link, by key. */
  readonly onLink: (key: string) => void;
}

/** Lists the interfaces of a node, each with the other end of its link. */
export function NodeInterfaces({ lab, node, mayCapture, interfaces, stateOf, onLink }: NodeInterfacesProps) {
  if (interfaces.length === 0) return <p class="hint">None: the node has no links.</p>;
  return (
    <table class="rows">
      <tbody>
        {interfaces.map((port) => {
          const { name, peer, link, mac, suspended, quality, addresses = [] } = port;
          const state = stateOf(port);
          const impairments = sideText(quality ?? {});
          return (
            <tr key={name}>
              <th scope="row">
                {name}
                {addresses.map((address) => (
                  <small key={address} class="mac">
                    {address}
                  </small>
                ))}
                {mac !== undefined && <small class="mac">{mac}</small>}
              </th>
              <td>
                {link !== undefined && (
                  <small class={`port-state${state.text === "up" ? "" : " off"}`} title={state.reason}>
                    {state.text}
                  </small>
                )}{" "}
                {link === undefined ? (
                  <small>free</small>
                ) : (
                  <button type="button" class="plain" onClick={() => onLink(link)}>
                    {peer}
                  </button>
                )}
                {suspended && <span class="mark warn">suspended</span>}
                {impairments !== "" && <small> sends with {impairments}</small>}
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
