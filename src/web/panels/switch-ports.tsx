import { useState } from "preact/hooks";
import type { SwitchData, SwitchPort } from "../../contract/schemas/switches.ts";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { usePolling } from "../parts/use-polling.ts";
import { call } from "../service/api.ts";

interface SwitchPortsProps {
  readonly lab: string;
  /** Key of the node. */
  readonly node: string;
}

/** How often the ports are read while they are visible, ms. */
const pollMs = 3_000;

/** Shows the ports of a switch as they run: VLANs, LACP, spanning tree, learned addresses. They are read when the section is opened. */
export function SwitchPorts(props: SwitchPortsProps) {
  const [open, setOpen] = useState(false);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Switch ports</summary>
      {open && <Ports {...props} />}
    </details>
  );
}

function Ports({ lab, node }: SwitchPortsProps) {
  const { data, error, again } = useAnswer((signal) => call("listSwitches", { lab, node }, { signal }), [lab, node]);
  usePolling(again, pollMs);
  if (data === undefined) return error === undefined ? <p class="hint">Reading…</p> : <Problem error={error} retry={again} />;
  const [found] = data.switches;
  if (found === undefined) return <p class="hint">This switch has no VLANs: its intent has no switching.</p>;
  if (found.ports.length === 0) return <p class="hint">{found.running ? "None: the switch has no links." : "The switch does not run."}</p>;
  return <PortTable found={found} />;
}

function PortTable({ found: { ports, spanning_tree: tree, addresses } }: { readonly found: SwitchData }) {
  return (
    <>
      {tree !== undefined && (
        <p class="hint">
          {tree.mode.toUpperCase()}: {tree.is_root ? "this switch is the root" : `the root is ${tree.root}`}.
        </p>
      )}
      <table class="rows">
        <tbody>
          {ports.map((port) => (
            <tr key={port.port}>
              <th scope="row">{port.port}</th>
              <td>
                {vlanText(port)} {port.differs && <span class="mark warn">changed by hand</span>}
                <small>{[...linkTexts(port), ...treeTexts(port), addressText(port, addresses)].filter(Boolean).join(", ")}</small>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function vlanText({ mode, vlan, vlans }: SwitchPort): string {
  if (mode === "access") return `access ${vlan ?? ""}`;
  return `trunk ${vlans?.join(", ") ?? "all"}${vlan === undefined ? "" : `, native ${vlan}`}`;
}

function linkTexts({ port, lacp, interfaces }: SwitchPort): readonly string[] {
  const down = interfaces.filter(({ up }) => !up).map((one) => (one.interface === port ? "no carrier" : `${one.interface} has no carrier`));
  if (lacp === undefined || lacp === "off") return down;
  const joined = interfaces.filter((one) => one.lacp_current === true).length;
  return [`LACP ${lacp}, ${joined} of ${interfaces.length} links joined`, ...down];
}

function treeTexts({ role, state }: SwitchPort): readonly string[] {
  return role === undefined ? [] : [`${role} port, ${state}`];
}

function addressText({ port }: SwitchPort, addresses: SwitchData["addresses"]): string {
  const count = addresses.filter((one) => one.port === port).length;
  return count === 0 ? "" : `${count} ${count === 1 ? "address" : "addresses"} learned`;
}
