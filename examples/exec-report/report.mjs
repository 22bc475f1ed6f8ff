// node report.mjs LAB COMMAND [--html]: one command on every running node of a lab, as a report on standard output.
// Exit code 0: every node answered; 1: not all did, or the lab cannot be asked. The service and the session come from the environment.
import { parseArgs } from "node:util";
import { connect } from "labwright";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { html: { type: "boolean" } } });
const [lab, command] = positionals;
const { LABWRIGHT_URL: url, LABWRIGHT_PIN: pin, LABWRIGHT_USER: username, LABWRIGHT_PASSWORD: password } = process.env;
if (lab === undefined || command === undefined || url === undefined || username === undefined || password === undefined) {
  console.error("usage: LABWRIGHT_URL=… LABWRIGHT_USER=… LABWRIGHT_PASSWORD=… node report.mjs LAB COMMAND [--html]");
  process.exit(1);
}

using client = connect({ url, pin, credentials: { username, password } });
const { results } = await client.execConsoleMany({ lab, command, timeout_ms: 30_000 });
const failed = results.filter(({ ok }) => ok === false);
console.log(values.html ? html() : markdown());
process.exitCode = failed.length === 0 && results.length > 0 ? 0 : 1;

function markdown() {
  const rows = results.map(({ node, ok, code, duration_ms }) => `| ${node} | ${ok ? "ok" : code} | ${duration_ms ?? ""} |`);
  const outputs = results.map(({ node, output, error }) => `## ${node}\n\n${fenced(output ?? error ?? "")}`);
  return [`# ${lab}: \`${command}\``, "", "| node | | ms |", "|---|---|---|", ...rows, "", outputs.join("\n\n")].join("\n");
}

/** A fence longer than any in the text. */
function fenced(text) {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text.trimEnd()}\n${fence}`;
}

function html() {
  const rows = results.map(
    ({ node, ok, code, duration_ms, output, error }) =>
      `<tr class="${ok ? "ok" : "failed"}"><th>${escaped(node)}</th><td>${escaped(ok ? "ok" : code)}</td><td>${duration_ms ?? ""}</td>` +
      `<td><pre>${escaped(output ?? error ?? "")}</pre></td></tr>`,
  );
  const title = escaped(`${lab}: ${command}`);
  return [
    '<!doctype html><html lang="en"><meta charset="utf-8">',
    `<title>${title}</title><h1>${title}</h1><table><tr><th>node</th><th></th><th>ms</th><th>output</th></tr>`,
    ...rows,
    "</table></html>",
  ].join("\n");
}

/** What a node says is not trusted. */
function escaped(text = "") {
  return String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
