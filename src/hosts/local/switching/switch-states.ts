import { compareNatural } from "../../../base/natural-order.ts";
import { defaultVlan, lacpModes, nativeVlanOf, type SwitchPort, vlanList, vlanSpans } from "../../../intent/lab/switching.ts";
import { type LearnedAddress, maxAddresses, type SpanningTreeState, type SwitchPortState, type SwitchState } from "../../host-switches.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { LocalTemplate } from "../templates/template.ts";
import { type ActualPort, type ActualSwitch, readSwitches, runBeside } from "./read-switches.ts";
import { type WantedSwitch, type WantedSwitchPort, wantedSwitches } from "./wanted-switches.ts";

/** Returns node → its state, for the VLAN-aware switches that should run. Open vSwitch must run. Throws host_error if it does not answer. */
export async function switchStates(
  sandbox: Sandbox,
  definition: LabDefinition,
  template: (id: string) => LocalTemplate | undefined,
): Promise<ReadonlyMap<number, SwitchState>> {
  const wanted = wantedSwitches(definition, template);
  if (wanted.length === 0) return new Map();
  const actual = await readSwitches(sandbox);
  const addresses = await readAddresses(
    sandbox,
    wanted.map(({ name }) => name).filter((name) => actual.has(name)),
  );
  return new Map(
    wanted.flatMap((one) => {
      const there = actual.get(one.name);
      return there === undefined ? [] : [[one.node, switchState(one, there, addresses.get(one.name) ?? "")] as const];
    }),
  );
}

/** Returns the output of fdb/show for each switch. */
async function readAddresses(sandbox: Sandbox, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const script =
    'for name; do echo "switch $name"; ovs-appctl --timeout=10 fdb/show "$name" || exit; ovs-ofctl --timeout=10 show "$name" || exit; done';
  const { stdout } = await runBeside(sandbox, ["sh", "-c", script, "sh", ...names]);
  return new Map(
    stdout.split(/^switch /m).map((part) => {
      const end = part.indexOf("\n");
      return [part.slice(0, end), part.slice(end + 1)] as const;
    }),
  );
}

function switchState(wanted: WantedSwitch, actual: ActualSwitch, addresses: string): SwitchState {
  const ports = wanted.ports
    .map((port) =>
      portState(
        port,
        actual.ports.find(({ name }) => name === port.name),
      ),
    )
    .sort((a, b) => compareNatural(a.name, b.name));
  const spanningTree = treeState(actual);
  const learned = parseAddresses(addresses, wanted.ports);
  return {
    ports,
    ...(spanningTree !== undefined && { spanningTree }),
    addresses: learned.slice(0, maxAddresses),
    moreAddresses: Math.max(0, learned.length - maxAddresses),
  };
}

function portState(wanted: WantedSwitchPort, actual: ActualPort | undefined): SwitchPortState {
  const mode = actual === undefined || actual.vlanMode === "access" ? "access" : "trunk";
  const spans = vlanSpans(actual?.trunks ?? []);
  const vlan = actual?.tag;
  const vlans = mode === "trunk" && spans.length > 0 ? vlanList(spans) : undefined;
  const { role, state } = roleOf(actual);
  const devices = new Map(actual?.interfaces.map((one) => [one.name, one]));
  return {
    name: wanted.label,
    mode,
    ...(vlan !== undefined && { vlan }),
    ...(vlans !== undefined && { vlans }),
    interfaces: wanted.interfaces.map(({ device, label }) => {
      const current = devices.get(device)?.lacpCurrent;
      return { name: label, isUp: devices.get(device)?.isUp === true, ...(current !== undefined && { lacpCurrent: current }) };
    }),
    ...(wanted.lacp !== undefined && { lacp: lacpModes.find((mode) => mode === actual?.lacp) ?? "off" }),
    ...(role !== undefined && { role }),
    ...(state !== undefined && { state }),
    differs: actual === undefined || differs(wanted.vlans, { mode, vlan, vlans }) || (wanted.lacp ?? "off") !== (actual.lacp ?? "off"),
  };
}

function differs(declared: SwitchPort, { mode, vlan, vlans }: Pick<SwitchPortState, "mode"> & Record<"vlan" | "vlans", unknown>): boolean {
  const untagged = declared.mode === "access" ? (declared.vlan ?? defaultVlan) : nativeVlanOf(declared);
  const wanted = declared.mode === "trunk" ? declared.vlans : undefined;
  return declared.mode !== mode || untagged !== vlan || JSON.stringify(wanted) !== JSON.stringify(vlans);
}

function roleOf(actual: ActualPort | undefined): { readonly role?: string; readonly state?: string } {
  const rstp = actual?.rstpStatus ?? {};
  const stp = actual?.status ?? {};
  const [role, state] = [rstp["rstp_port_role"] ?? stp["stp_role"], rstp["rstp_port_state"] ?? stp["stp_state"]];
  return { ...(role !== undefined && { role: wordOf(role) }), ...(state !== undefined && { state: wordOf(state) }) };
}

/** Returns a word of Open vSwitch in lower case, without characters that its words do not have. */
function wordOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9.:-]/g, "")
    .slice(0, 64);
}

function treeState({ usesRstp, usesStp, rstpStatus, status }: ActualSwitch): SpanningTreeState | undefined {
  if (usesRstp) return { mode: "rstp", bridge: wordOf(rstpStatus["rstp_bridge_id"] ?? ""), root: wordOf(rstpStatus["rstp_root_id"] ?? "") };
  return usesStp
    ? { mode: "stp", bridge: wordOf(status["stp_bridge_id"] ?? ""), root: wordOf(status["stp_designated_root"] ?? "") }
    : undefined;
}

/** Parses the tables of addresses and of port numbers. Addresses at the bridge's own port are left out. */
export function parseAddresses(text: string, ports: readonly WantedSwitchPort[]): readonly LearnedAddress[] {
  const labels = new Map(ports.flatMap(({ label, interfaces }) => interfaces.map(({ device }) => [device, label] as const)));
  const numbers = new Map(
    [...text.matchAll(/^ (\d+)\((\w+)\): addr:/gm)].map(([, number = "", device = ""]) => [number, labels.get(device)]),
  );
  return [...text.matchAll(/^ *(\d{1,9}) +(\d{1,4}) +([0-9a-f:]{17}) +(\d{1,9})$/gm)].flatMap(([, number = "", vlan, mac = "", age]) => {
    const port = numbers.get(number);
    return port === undefined ? [] : [{ mac, vlan: Number(vlan), port, age: Number(age) }];
  });
}
