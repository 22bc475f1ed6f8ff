import type { Layer, Story } from "./layer.ts";

/** What routers say to each other. */

const ospfTypes = ["", "hello", "database description", "link state request", "link state update", "link state acknowledgment"];

export function tellOspf(ospf: Layer, story: Story, way: string): void {
  story.protocols.push("ospf");
  const [version, type] = [ospf.u8(0), ospf.u8(1)];
  const more = type === 4 ? `, ${ospf.u32(version === 2 ? 24 : 16)} LSAs` : "";
  story.summary = `${way} OSPFv${version} ${ospfTypes[type] ?? `type ${type}`} router ${ospf.ipv4(4)} area ${ospf.ipv4(8)}${more}`;
}

const bgpTypes = ["", "OPEN", "UPDATE", "NOTIFICATION", "KEEPALIVE", "ROUTE-REFRESH"];

/** The messages that begin in this segment; one that carries the middle of a message, or none, stays a segment. */
export function tellBgp(bgp: Layer, story: Story, way: string): void {
  const told: string[] = [];
  for (let at = 0; at + 19 <= bgp.length && isMarker(bgp, at); ) {
    const [length, type] = [bgp.u16(at + 16), bgp.u8(at + 18)];
    if (length < 19) break;
    const name = bgpTypes[type] ?? `type ${type}`;
    const open = type === 1 && at + 28 <= bgp.length;
    const notice = type === 3 && at + 21 <= bgp.length;
    told.push(
      open
        ? `OPEN AS ${bgp.u16(at + 20)} router ${bgp.ipv4(at + 24)}`
        : notice
          ? `NOTIFICATION ${bgp.u8(at + 19)}/${bgp.u8(at + 20)}`
          : name,
    );
    at += length;
  }
  if (told.length === 0) return;
  story.protocols.push("bgp");
  story.summary = `${way} BGP ${told.join(", ")}`;
}

function isMarker(bgp: Layer, at: number): boolean {
  return bgp.bytes.subarray(at, at + 16).every((byte) => byte === 0xff);
}

const isisTypes: Readonly<Record<number, string>> = {
  15: "hello L1",
  16: "hello L2",
  17: "hello point-to-point",
  18: "LSP L1",
  20: "LSP L2",
  24: "CSNP L1",
  25: "CSNP L2",
  26: "PSNP L1",
  27: "PSNP L2",
};

export function tellIsis(isis: Layer, story: Story): void {
  story.protocols.push("isis");
  const type = isis.u8(4) & 0x1f;
  const isLsp = type === 18 || type === 20;
  // The source id of a hello lies behind the circuit type, of a sequence number PDU behind its length, of an LSP its own id.
  const id = systemId(isis, isLsp ? 12 : type <= 17 ? 9 : 10);
  const more = isLsp ? ` sequence 0x${isis.hex(20, 4)}` : "";
  story.summary = `IS-IS ${isisTypes[type] ?? `PDU ${type}`} ${isLsp ? `${id}.${isis.hex(18, 1)}-${isis.hex(19, 1)}` : `from ${id}`}${more}`;
}

function systemId(isis: Layer, at: number): string {
  return [0, 2, 4].map((offset) => isis.hex(at + offset, 2)).join(".");
}

export function tellVrrp(vrrp: Layer, story: Story, way: string): void {
  story.protocols.push("vrrp");
  story.summary = `${way} VRRPv${vrrp.u8(0) >> 4} advertisement group ${vrrp.u8(1)} priority ${vrrp.u8(2)}`;
}

const pimTypes = ["hello", "register", "register-stop", "join/prune", "bootstrap", "assert", "graft", "graft-ack", "candidate-RP"];

export function tellPim(pim: Layer, story: Story, way: string): void {
  story.protocols.push("pim");
  story.summary = `${way} PIMv${pim.u8(0) >> 4} ${pimTypes[pim.u8(0) & 15] ?? `type ${pim.u8(0) & 15}`}`;
}

const igmpTypes: Readonly<Record<number, string>> = { 17: "query", 18: "report v1", 22: "report v2", 23: "leave", 34: "report v3" };

export function tellIgmp(igmp: Layer, story: Story, way: string): void {
  story.protocols.push("igmp");
  const type = igmp.u8(0);
  story.summary = `${way} IGMP ${igmpTypes[type] ?? `type ${type}`}${type === 0x22 ? "" : ` ${igmp.ipv4(4)}`}`;
}
