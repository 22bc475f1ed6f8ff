import type { InspectedInterface } from "../../contract/schemas/observe.ts";
import { CaptureButton } from "../captures/capture-button.tsx";
import type { LinkChanges } from "./use-link-changes.ts";

interface LinkInterfacesProps {
  readonly lab: string;
  readonly endpoints: readonly [string, string];
  /** The interface at each end; undefined for a network. */
  readonly interfaces: readonly (InspectedInterface | undefined)[];
  readonly changes: LinkChanges;
  readonly mayOperate: boolean;
}

const sides = ["a", "b"] as const;

/** Lists the interfaces at the ends of a link, with buttons to suspend, resume and capture each. */
export function LinkInterfaces({ lab, endpoints, interfaces, changes: { busy, setSuspended }, mayOperate }: LinkInterfacesProps) {
  const isBusy = busy !== undefined;
  const anySuspended = interfaces.some((one) => one?.suspended === true);
  return (
    <>
      <table class="rows interfaces">
        <tbody>
          {sides.map((side, at) => {
            const end = interfaces[at];
            if (end === undefined) return null;
            return (
              <tr key={side}>
                <th scope="row">
                  {endpoints[at]}
                  <small>{end.suspended ? "suspended" : "connected"}</small>
                </th>
                <td>
                  {mayOperate && (
                    <div class="buttons">
                      <button type="button" disabled={isBusy} onClick={() => setSuspended(!end.suspended, side)}>
                        {end.suspended ? "Resume" : "Suspend"}
                        <span class="visually-hidden"> {endpoints[at]}</span>
                      </button>
                      <CaptureButton lab={lab} node={nodeOf(endpoints[at]!)} port={end.name} />
                    </div>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {mayOperate && interfaces.every((one) => one !== undefined) && (
        <div class="buttons">
          <button type="button" disabled={isBusy} onClick={() => setSuspended(!anySuspended)}>
            {anySuspended ? "Resume both" : "Suspend both"}
          </button>
        </div>
      )}
    </>
  );
}

/** Returns the node's key in "r1:eth1". */
function nodeOf(endpoint: string): string {
  return endpoint.split(":", 1)[0]!;
}
