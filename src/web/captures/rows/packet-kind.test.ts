import { expect, test } from "vitest";
import { packetKind, protocolName } from "./packet-kind.ts";

const of = (protocols: string, summary = "") => {
  const row = { protocols: protocols.split(":"), summary };
  return [protocolName(row), packetKind(row)];
};

test("a packet has the name and the group of its innermost protocol", () => {
  expect(of("eth:arp")).toEqual(["ARP", "arp"]);
  expect(of("eth:ip:icmp:data")).toEqual(["ICMP", "icmp"]);
  expect(of("eth:ip:ospf")).toEqual(["OSPF", "routing"]);
  expect(of("eth:llc:osi:isis:isis.hello")).toEqual(["ISIS", "routing"]);
  expect(of("eth:ip:tcp:bgp")).toEqual(["BGP", "routing"]);
  expect(of("eth:ip:tcp:http:data-text-lines")).toEqual(["HTTP", "tcp"]);
  expect(of("eth:ip:udp:dns")).toEqual(["DNS", "services"]);
  expect(of("eth:llc:stp")).toEqual(["STP", "switching"]);
  expect(of("eth:data")).toEqual(["DATA", "other"]);
  expect(of("")).toEqual(["", "other"]);
});

test("a malformed or retransmitted packet is in the group of problems", () => {
  expect(of("eth:ip:tcp", "[TCP Retransmission] 80 → 40000")).toEqual(["TCP", "problem"]);
  expect(of("eth:ip:ospf:_ws.malformed")).toEqual(["OSPF", "problem"]);
});
