import { expect, test } from "vitest";
import { imageReference } from "./image-reference.ts";

const hex = "a".repeat(64);

test.each([
  ["registry.example/frrouting/frr:10.2", { registry: "registry.example", repository: "frrouting/frr", tag: "10.2" }],
  ["Registry.Example:5000/frr", { registry: "registry.example:5000", repository: "frr", tag: "latest" }],
  ["localhost/a/b/c:x", { registry: "localhost", repository: "a/b/c", tag: "x" }],
  ["localhost:5000/a", { registry: "localhost:5000", repository: "a", tag: "latest" }],
  [`registry.example/frr@sha256:${hex}`, { registry: "registry.example", repository: "frr", digest: hex }],
  [`registry.example/frr:10@sha256:${hex}`, { registry: "registry.example", repository: "frr", tag: "10", digest: hex }],
  ["frrouting/frr:10.2", { registry: "hub.example", repository: "frrouting/frr", tag: "10.2" }],
  ["frr:10.2", { registry: "hub.example", repository: "frr", tag: "10.2" }],
  ["docker.io/alpine", { registry: "docker.io", repository: "library/alpine", tag: "latest" }],
  ["index.docker.io/frrouting/frr:1", { registry: "docker.io", repository: "frrouting/frr", tag: "1" }],
])("%s is an image of a registry", (text, expected) => {
  expect(imageReference(text, "hub.example")).toEqual(expected);
});

test.each([
  ["", "is not REGISTRY/NAME:TAG"],
  ["r.example/Frr", "is not the name of an image"],
  ["r.example/../frr", "is not the name of an image"],
  ["r.example/frr:", "is not a tag"],
  ["r.example/frr:a b", "is not a tag"],
  ["r.example/frr@sha256:12", "is not REGISTRY/NAME:TAG"],
  ["user@r.example/frr", "is not REGISTRY/NAME:TAG"],
  ["r.example:70:1/frr", "is not the name of a registry"],
  ["r.example:99999/frr", "is not the name of a registry"],
  ["-r.example/frr", "is not the name of a registry"],
  ["r.example//frr", "is not the name of an image"],
  [`r.example/${"a".repeat(300)}`, "is not REGISTRY/NAME:TAG"],
])("%j is refused with its problem", (text, problem) => {
  expect(imageReference(text, "hub.example")).toEqual({ problem: expect.stringContaining(problem) });
});

test("a name without a registry needs a default registry", () => {
  expect(imageReference("frr:10.2")).toEqual({ problem: "it names no registry, and the host has no default registry" });
});
