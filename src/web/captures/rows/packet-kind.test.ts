import { expect, test } from "vitest";
import { packetKind, protocolName } from "./packet-kind.ts";

const of = (protocols: string, summary = "") => {
  const row = { protocols: protocols.split(":"), summary };
  return [protocolName(row), packetKind(row)];
};

test("a packet is called and coloured by the innermost protocol that says who speaks", () => {
  expect(of("eth:arp")).toEqual(["ARP", "arp"]);
  expect(of("eth:ip:icmp:data")).toEqual(["ICMP", "icmp"]);
  expect(of("eth:ip:ospf")).toEqual(["OSPF", "routing"]);
  expect(of("eth:llc:osi:isis:isis.hello")).toEqual(["ISIS", "routing"]);
  expect(of("eth:ip:tcp:bgp")).toEqual(["BGP", "routing"]);
  expect(of("eth:ip:tcp:http:data-text-lines")).toEqual(["HTTP", "tcp"]);
  expect(of("eth:ip:udp:dns")).toEqual(["DNS", "names"]);
  expect(of("eth:llc:stp")).toEqual(["STP", "switching"]);
  expect(of("eth:data")).toEqual(["DATA", "other"]);
  expect(of("")).toEqual(["", "other"]);
});

test("a packet that is broken, or sent again, is trouble", () => {
  expect(of("eth:ip:tcp", "[TCP Retransmission] 80 → 40000")).toEqual(["TCP", "trouble"]);
  expect(of("eth:ip:ospf:_ws.malformed")).toEqual(["OSPF", "trouble"]);
});
