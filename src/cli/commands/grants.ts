import type { ResultOf } from "../../client/index.ts";
import { type Command, labFlag, topoFlag } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { table, wordList } from "../show/table.ts";

type Grant = ResultOf<"getLabGrants">["grants"][number];

const rights: readonly Grant["right"][] = ["view", "operate", "edit"];

export const grants: Command = {
  name: "grants",
  summary: "Show, grant and revoke the rights of other users on a lab",
  details:
    "view: inspect and plan. operate: also power, consoles, links and captures; power includes wipe, which deletes the contents of disks. edit: also\n" +
    "change the lab. Only the owner and admins change grants and destroy the lab.",
  flags: [
    topoFlag,
    labFlag,
    { long: "grant", value: "USER=RIGHT", multiple: true, summary: "Grant a user view, operate or edit; repeatable, or a comma list" },
    { long: "revoke", value: "USER", multiple: true, summary: "Revoke a user's right; repeatable, or a comma list" },
  ],
  example: "labwright grants --lab /campus --grant bob=operate",
  run: async (context, args) => {
    const given = args.list("grant").map(grantOf);
    const revoked = new Set(args.list("revoke"));
    const { selector } = await context.project();
    const client = await context.client();
    const lab = selector.lab ?? (await client.getProjectStatus(selector)).lab;
    const now = await client.getLabGrants({ lab });
    const unknown = [...revoked].find((user) => !now.grants.some((grant) => grant.user === user));
    if (unknown !== undefined)
      throw new UsageError(`${lab} is not shared with ${unknown}`, "labwright grants lists the users with a right");
    const changed = new Set([...revoked, ...given.map(({ user }) => user)]);
    const wanted = [...now.grants.filter(({ user }) => !changed.has(user)), ...given];
    const data = changed.size === 0 ? now : await client.setLabGrants({ lab, grants: wanted });
    context.result(data, ({ owner, grants: all }) =>
      table(["USER", "RIGHT"], [[owner, "owner"], ...all.map(({ user, right }) => [user, right])]),
    );
    return 0;
  },
};

function grantOf(text: string): Grant {
  const at = text.lastIndexOf("=");
  const right = rights.find((one) => one === text.slice(at + 1));
  if (at <= 0 || right === undefined) throw new UsageError(`--grant takes USER=RIGHT, with a right of ${wordList(rights)}, not "${text}"`);
  return { user: text.slice(0, at), right };
}
