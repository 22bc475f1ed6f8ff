import { expect, test } from "vitest";
import { keysName, keysOf } from "./public-keys.ts";

test("only public keys without options are accepted, each once and without its comment", () => {
  const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample";
  const hard = "sk-ssh-ed25519@openssh.com AAAA=";
  const other = [`command="id" ${key}`, "# comment", "-----BEGIN OPENSSH PRIVATE KEY-----", "ssh-ed25519"];
  expect(keysOf([`${key} ann@home`, key, `${hard} token`, ...other].join("\r\n"))).toEqual([hard, key]);
});

test("other keys have another file in the node", () => {
  expect(keysName(["a", "b"])).toMatch(/^[0-9a-f]{32}$/);
  expect(keysName(["a", "b"])).not.toBe(keysName(["a"]));
});
