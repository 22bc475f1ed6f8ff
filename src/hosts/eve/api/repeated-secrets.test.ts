import { expect, test } from "vitest";
import { noSecrets, secretsOfBody, secretsOfTexts, withoutSecrets } from "./repeated-secrets.ts";

const password = `pa"s&w<o/r'dü%41 1\\z9`;
const cookie = "3f0c9a52-0d8e-4c3f-9a55-cookie";
const config = 'hostname r1\nenable secret 5 $1$hunter2/x\nsnmp-server community c0mm RO\n<tag attr="v"> & a long line of the config\n';
const secrets = { values: [password, cookie, "eve"], texts: [config] };

const json = (text: string) => JSON.stringify(text).slice(1, -1);
const phpJson = (text: string) => json(text).replaceAll("/", "\\/").replaceAll("ü", "\\u00fc");
const form = (text: string) => new URLSearchParams({ a: text }).toString().slice(2);
const html = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;").replaceAll("'", "&#039;");
const numbers = (text: string) => Array.from(text, (one) => `&#x${one.codePointAt(0)!.toString(16)};`).join("");

const notations: readonly (readonly [string, (text: string) => string])[] = [
  ["as it is", (text) => text],
  ["JSON", json],
  ["JSON of PHP", phpJson],
  ["URL", encodeURIComponent],
  ["form", form],
  ["HTML", html],
  ["HTML numbers", numbers],
  ["JSON in JSON", (text) => json(json(text))],
  ["JSON in HTML", (text) => html(json(text))],
  ["JSON in a URL in HTML", (text) => html(encodeURIComponent(json(text)))],
  ["one line", (text) => text.replaceAll("\n", " ")],
  ["wrapped", (text) => text.replace(/.{8}/gsu, "$&\r\n  ")],
];

test.each(notations)("secrets that a message repeats are redacted: %s", (_name, notation) => {
  for (const text of [password, cookie, config]) {
    expect(withoutSecrets(`bad request: body=${notation(text)}; try again`, secrets)).toMatch(
      /^bad request: body=\**(?:[\s"'\\<>&;%]|[nrt0]|20|0A|5C|&#xa;|\*)*; try again$/i,
    );
    // A part of a secret, as of a message that was cut.
    const part = notation(text.slice(0, Math.ceil(text.length * 0.7)));
    expect(withoutSecrets(`near "${part}`, secrets)).not.toContain(part.slice(0, 8));
  }
});

test("a short secret is redacted as a whole word only", () => {
  expect(withoutSecrets('received {"password":"eve"} of EVE-NG for eve; password=eve&x, forever', secrets)).toBe(
    'received {"password":"********"} of EVE-NG for ********; password=********&x, forever',
  );
  expect(withoutSecrets("%22eve%22", secrets)).toBe("%22********%22");
});

test("messages without secrets of the request are unchanged", () => {
  for (const message of ["", "Lab has been saved (60023).", 'a % & \\ "b" %zz &x; \\q', "Übergröße 👩‍🚀"]) {
    expect(withoutSecrets(message, secrets)).toBe(message);
    expect(withoutSecrets(message, noSecrets)).toBe(message);
  }
});

test("the secrets of a body are configurations, sensitive fields and words after secret words", () => {
  const body = { data: config, username: "ann", password: "x", nested: { options: "-m 512 -object secret,data=hunter22" }, id: 7 };
  expect(secretsOfBody(body)).toEqual({ values: ["$1$hunter2/x", "c0mm", "x", "data=hunter22"], texts: [config] });
  expect(secretsOfBody(Buffer.from("x"))).toEqual(noSecrets);
  expect(secretsOfBody(undefined)).toEqual(noSecrets);
  const shown = withoutSecrets(`XML: ${Buffer.from(config).toString("base64")}, c0mm`, secretsOfTexts([config]));
  expect(shown).toBe("XML: ********, ********");
});

test("long messages are cut without cutting a secret in two, and the time grows with the secrets only", () => {
  const long = withoutSecrets(`${"x ".repeat(990)}${cookie}${"y".repeat(10_000_000)}`, secrets);
  expect(long).toHaveLength(2_001);
  expect(long).toMatch(/x \*\*\*\*\*\*\*\*y+…$/);
  const lines = Array.from({ length: 40_000 }, (_, index) => `ip route 10.${index % 250}.${index >> 8}.0 255.255.255.0 10.0.0.1`).join(
    "\n",
  );
  const started = performance.now();
  expect(withoutSecrets(lines, { values: [], texts: [lines, "a".repeat(1_000_000), "%41".repeat(300_000)] })).toMatch(/^\*{8}\s?…$/);
  expect(performance.now() - started).toBeLessThan(5_000);
});
