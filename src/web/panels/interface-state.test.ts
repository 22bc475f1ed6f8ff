import { expect, test } from "vitest";
import { interfaceState } from "./interface-state.ts";

const port = { link: "r1:eth0 – h1:eth0", peer: "h1:eth0", suspended: false };
const input = { port, status: "running", isPeerSuspended: false, peerStatus: "running" };

test("an interface is up if both nodes run and neither end is suspended", () => {
  expect(interfaceState(input)).toEqual({ text: "up" });
  expect(interfaceState({ ...input, peerStatus: undefined })).toEqual({ text: "up" });
  expect(interfaceState({ ...input, status: "stopped" })).toEqual({ text: "down", reason: "the node is stopped" });
  expect(interfaceState({ ...input, peerStatus: "stopped" })).toEqual({ text: "no carrier", reason: "h1:eth0 is stopped" });
  expect(interfaceState({ ...input, isPeerSuspended: true }).reason).toBe("the other end is suspended");
  expect(interfaceState({ ...input, port: { ...port, suspended: true } }).reason).toBe("this interface is suspended");
  expect(interfaceState({ ...input, port: { suspended: false } })).toEqual({ text: "no link" });
});
