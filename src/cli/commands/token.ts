import type { ResultOf } from "../../client/index.ts";
import { tokenScopes as scopes } from "../../contract/token-scopes.ts";
import type { Command } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { table } from "../show/table.ts";

type Token = ResultOf<"listTokens">["tokens"][number];

const actions = ["create", "list", "ls", "revoke", "rm"] as const;
/** Shorter names, as other programs have them. */
const aliases: Readonly<Record<string, string>> = { ls: "list", rm: "revoke" };

export const token: Command = {
  name: "token",
  summary: "Create, list or revoke API tokens, for CI jobs and other programs",
  operands: "create NAME|list|revoke ID",
  maxOperands: 2,
  choices: actions,
  details:
    "create prints the token once; the service stores only its digest. A program gives it to labwright in LABWRIGHT_TOKEN, with LABWRIGHT_URL and\n" +
    "LABWRIGHT_PIN. It never allows more than its user may do, and --scope limits it further: read views labs, operate also uses power, consoles, links\n" +
    "and captures, deploy also makes, changes and destroys labs, labs also shares them, admin does everything that an admin may do. --lab limits it to\n" +
    "labs whose paths match. A token ends when it expires or is revoked, and when its user is removed or gets a new password. A token cannot manage\n" +
    "tokens. Admins list and revoke the tokens of all users. ls and rm are short for list and revoke.",
  flags: [
    { long: "scope", value: "SCOPE", choices: scopes, summary: "The most that the token may do; default: labs" },
    {
      long: "lab",
      value: "PATTERN",
      multiple: true,
      summary: "Limits it to labs with such a path: * and ? in a segment, ** for any segments, such as '/ci-*'",
    },
    { long: "expires", value: "TIME", summary: "Time until it expires, such as 12h or 90d, at most 366d; default: 30d" },
  ],
  example: "labwright token create ci --scope deploy --lab '/ci-*' --expires 90d",
  run: async (context, args) => {
    const [given = "list", operand] = args.operands;
    const action = aliases[given] ?? given;
    const operandOf = (what: string) => {
      if (operand === undefined) throw new UsageError(`token ${action} needs ${what}: labwright token ${action} ${what}`);
      return operand;
    };
    if (action === "create") {
      const name = operandOf("NAME");
      const scope = scopes.find((one) => one === args.text("scope"));
      const expires = args.text("expires");
      const lifetime = expires === undefined ? undefined : secondsOf(expires);
      const labs = args.list("lab");
      const client = await context.client();
      const made = await client.createToken({
        name,
        ...(scope !== undefined && { scope }),
        ...(labs.length > 0 && { labs }),
        ...(lifetime !== undefined && { lifetime }),
      });
      const limits = [made.name, made.scope, ...(made.labs ?? [])].join(", ");
      context.terminal.note(`token ${made.id} (${limits}) expires ${made.expires_at}; it is not shown again:`);
      context.result(made, ({ token: text }) => text);
      return 0;
    }
    if (["scope", "lab", "expires"].some((flag) => args.has(flag)))
      throw new UsageError("--scope, --lab and --expires are for labwright token create");
    if (action === "revoke") {
      const id = operandOf("ID");
      const { tokens } = await (await context.client()).revokeToken({ id });
      context.result({ tokens }, () => `token ${id} is revoked`);
      return 0;
    }
    if (action !== "list") throw new UsageError(`token takes create, list or revoke, not "${given}"`);
    if (operand !== undefined) throw new UsageError(`"${operand}" is one argument too many`);
    context.result(await (await context.client()).listTokens(), ({ tokens }) => show(tokens));
    return 0;
  },
};

function show(tokens: readonly Token[]): string {
  if (tokens.length === 0) return "no tokens";
  const state = ({ expires_at: at }: Token) => (Date.parse(at) <= Date.now() ? `expired ${at}` : at);
  return table(
    ["ID", "USER", "NAME", "SCOPE", "LABS", "LAST USED", "EXPIRES"],
    tokens.map((one) => [
      one.id,
      one.user,
      one.name,
      one.scope,
      one.labs?.join(" ") ?? "all",
      one.used_at === one.created_at ? "never" : one.used_at,
      state(one),
    ]),
  );
}

const units: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 };

function secondsOf(text: string): number {
  const [, count, unit = ""] = /^([1-9]\d{0,6})([mhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (units[unit] ?? 0);
  if (count === undefined || seconds > 366 * 86_400)
    throw new UsageError(`--expires takes a time such as 30m, 12h or 90d, at most 366d, not "${text}"`);
  return seconds;
}
