import { afterEach, beforeEach, expect, test } from "vitest";
import { cluster, postgresPrograms } from "../../../service/store/testing/cluster.fixture.ts";
import { openMember } from "../fleet.fixture.ts";

const is = { skip: postgresPrograms === undefined, timeout: 240_000 };

let cleanup: AsyncDisposableStack;
beforeEach(() => {
  cleanup = new AsyncDisposableStack();
});
afterEach(() => cleanup.disposeAsync());

test(
  "labs that are deployed on two machines at the same time do not exceed a quota of their user, or of a group, together",
  is,
  async () => {
    const address = await (await cluster()).database();
    const one = cleanup.use(await openMember({ name: "one", place: 1, address }));
    const { token } = await one.fleet.calls.createToken(600_000);
    const other = cleanup.use(await openMember({ name: "other", place: 2, address, token }));
    await one.hasFree(900);
    const admin = one.client(await one.login("admin"));
    const quota = (body: object) => admin.call("PUT", "/api/v1/quotas", { body: JSON.stringify(body) });
    expect((await quota({ kind: "user", name: "ann", labs: 3 })).json.ok).toBe(true);
    expect((await quota({ kind: "group", name: "students", members: ["ann", "bob"], nodes: 10 })).json.ok).toBe(true);
    await expect.poll(() => other.store.quotas.list().length).toBe(2);
    const deploy = async (user: string, name: string, nodes: number) => {
      const member = name.endsWith("1") ? one : other;
      const yaml = `name: ${name}\nplace: {machine: ${member.name}}\nnodes:\n${Array.from({ length: nodes }, (_, node) => `  h${node}: {template: linux}\n`).join("")}`;
      const { json } = await member.client(tokens.get(user)!).post("/api/v1/projects/deploy", { yaml });
      return json.ok === true ? "deployed" : (json.code as string);
    };
    const tokens = new Map([
      ["ann", await one.login("ann")],
      ["bob", await one.login("bob")],
    ]);
    for (const token of tokens.values()) await expect.poll(async () => (await other.client(token).get("/api/v1/labs")).status).toBe(200);
    const counted = (codes: readonly string[]) => [
      codes.filter((code) => code === "deployed").length,
      ...new Set(codes.filter((code) => code !== "deployed")),
    ];
    const names = Array.from({ length: 12 }, (_, lab) => `lab${lab}-${(lab % 2) + 1}`);
    expect(counted(await Promise.all(names.map((name) => deploy("ann", name, 1))))).toEqual([3, "quota_exceeded"]);
    // Seven nodes of the group are left.
    expect(counted(await Promise.all(names.map((name) => deploy("bob", `of-${name}`, 2))))).toEqual([3, "quota_exceeded"]);
    for (const { store } of [one, other]) await expect.poll(() => store.labs.list().length).toBe(6);
  },
);
