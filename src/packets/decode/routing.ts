import type { Decoded, Layer } from "./layer.ts";

/** Routing protocols. */

const ospfTypes = ["", "hello", "database description", "link state request", "link state update", "link state acknowledgment"];

export function describeOspf(ospf: Layer, decoded: Decoded, way: string): void {
  decoded.protocols.push("ospf");
  const [version, type] = [ospf.u8(0), ospf.u8(1)];
  const more = type === 4 ? `, ${ospf.u32(version === 2 ? 24 : 16)} LSAs` : "";
  decoded.summary = `${way} OSPFv${version} ${ospfTypes[type] ?? `type ${type}`} router ${ospf.ipv4(4)} area ${ospf.ipv4(8)}${more}`;
}

const bgpTypes = ["", "OPEN", "UPDATE", "NOTIFICATION", "KEEPALIVE", "ROUTE-REFRESH"];

/** Describes the messages that begin in this segment. A segment without one, or with the middle of a message, stays a segment. */
export function describeBgp(bgp: Layer, decoded: Decoded, way: string): void {
  const parts: string[] = [];
  for (let at = 0; at + 19 <= bgp.length && isMarker(bgp, at); ) {
    const [length, type] = [bgp.u16(at + 16), bgp.u8(at + 18)];
    if (length < 19) break;
    const name = bgpTypes[type] ?? `type ${type}`;
    const open = type === 1 && at + 28 <= bgp.length;
    const notice = type === 3 && at + 21 <= bgp.length;
    parts.push(
      open
        ? `OPEN AS ${bgp.u16(at + 20)} router ${bgp.ipv4(at + 24)}`
        : notice
          ? `NOTIFICATION ${bgp.u8(at + 19)}/${bgp.u8(at + 20)}`
          : name,
    );
    at += length;
  }
  if (parts.length === 0) return;
  decoded.protocols.push("bgp");
  decoded.summary = `${way} BGP ${parts.join(", ")}`;
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

export function describeIsis(isis: Layer, decoded: Decoded): void {
  decoded.protocols.push("isis");
  const type = isis.u8(4) & 0x1f;
  const isLsp = type === 18 || type === 20;
  // The source id of a hello is behind the circuit type, of a sequence number PDU behind its length, of an LSP its own id.
  const id = systemId(isis, isLsp ? 12 : type <= 17 ? 9 : 10);
  const more = isLsp ? ` sequence 0x${isis.hex(20, 4)}` : "";
  decoded.summary = `IS-IS ${isisTypes[type] ?? `PDU ${type}`} ${isLsp ? `${id}.${isis.hex(18, 1)}-${isis.hex(19, 1)}` : `from ${id}`}${more}`;
}

function systemId(isis: Layer, at: number): string {
  return [0, 2, 4].map((offset) => isis.hex(at + offset, 2)).join(".");
}

export function describeVrrp(vrrp: Layer, decoded: Decoded, way: string): void {
  decoded.protocols.push("vrrp");
  decoded.summary = `${way} VRRPv${vrrp.u8(0) >> 4} advertisement group ${vrrp.u8(1)} priority ${vrrp.u8(2)}`;
}

const pimTypes = ["hello", "register", "register-stop", "join/prune", "bootstrap", "assert", "graft", "graft-ack", "candidate-RP"];

export function describePim(pim: Layer, decoded: Decoded, way: string): void {
  decoded.protocols.push("pim");
  decoded.summary = `${way} PIMv${pim.u8(0) >> 4} ${pimTypes[pim.u8(0) & 15] ?? `type ${pim.u8(0) & 15}`}`;
}

const igmpTypes: Readonly<Record<number, string>> = { 17: "query", 18: "report v1", 22: "report v2", 23: "leave", 34: "report v3" };

export function describeIgmp(igmp: Layer, decoded: Decoded, way: string): void {
  decoded.protocols.push("igmp");
  const type = igmp.u8(0);
  decoded.summary = `${way} IGMP ${igmpTypes[type] ?? `type ${type}`}${type === 0x22 ? "" : ` ${igmp.ipv4(4)}`}`;
}
