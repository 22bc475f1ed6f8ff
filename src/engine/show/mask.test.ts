import { expect, test } from "vitest";
import { maskText } from "./mask.ts";

test.each([
  ["password\n  hunter2\nhostname r1\n", "password\n  (sensitive)\nhostname r1\n"],
  ["password:\r\n\r\n  hunter2\r\nend", "password:\r\n\r\n  (sensitive)\r\nend"],
  ["  secret: |\n    hunter2\n", "  secret: (sensitive)\n    (sensitive)\n"],
  ["key:\n  hunter2\n", "key:\n  (sensitive)\n"],
  ["set pskhunter2", "set psk(sensitive)"],
  ["set psksecret hunter2", "set psk(sensitive)"],
  ["set psk hunter2", "set psk (sensitive)"],
  ["Authorization: Bearer hunter2", "Authorization: (sensitive)"],
  ["curl -H 'authorization: Basic hunter2' http://x", "curl -H 'authorization: (sensitive)"],
  ["enable secret hunter2\r\nend\r\n", "enable secret (sensitive)\r\nend\r\n"],
  ["enable secret a\rhunter2", "enable secret (sensitive)"],
  ["Bearer hunter2", "Bearer (sensitive)"],
])("%j is masked", (text, masked) => {
  expect(maskText(text)).toBe(masked);
});

test.each(["hostname r1\ninterface e0\n", "crypto key\nhostname r1", "keyboard us\n", "authorize all"])("%j stays", (text) => {
  expect(maskText(text)).toBe(text);
});
