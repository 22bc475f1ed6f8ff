import { describe, expect, it } from "vitest";
import { EveAccount } from "../account/account.ts";
import { HostTransport } from "../api/host-transport.ts";
import { eveBench, pair } from "../eve-bench.fixture.ts";
import { removeEmptyFolder } from "./lab-folders.ts";

describe.each(["ce5", "ce6", "pro", "pnetlab"] as const)("folders on EVE-NG %s", (edition) => {
  it("are reported if they are made for a lab, and removed only while they are empty", async () => {
    await using bench = await eveBench({ edition });
    const made: string[] = [];
    const deploy = async (path: string) => {
      const { operations } = await bench.plan(path, pair);
      await bench.run(path, pair, operations, { madeFolder: (folder, isOurs) => void made.push(isOurs ? folder : `not ${folder}`) });
    };
    await deploy("/courses/day 1/a");
    expect(made).toEqual(["/courses", "/courses/day 1"]);
    await deploy("/courses/b");
    expect(made).toHaveLength(2);
    const remove = (folder: string) => bench.session.removeFolder?.(folder);
    expect([await remove("/courses/day 1"), await remove("/courses")]).toEqual([false, false]);
    expect(bench.fake.labFile("/courses/day 1/a.unl")).toBeDefined();
    await bench.make("/courses/day 1/a", null);
    expect(await remove("/courses")).toBe(false);
    expect(await remove("/courses/day 1")).toBe(true);
    expect(await remove("/courses/day 1")).toBe(true);
    await bench.make("/courses/b", null);
    expect(await remove("/courses")).toBe(true);
    expect(await bench.session.labs()).toEqual([]);
    await deploy("/courses/c");
    expect(made).toEqual(["/courses", "/courses/day 1", "/courses"]);
  });

  it("are reported before they are made: after a crash their maker is known", async () => {
    await using bench = await eveBench({ edition });
    const heard: string[] = [];
    const { operations } = await bench.plan("/day 1/a", pair);
    bench.calls();
    const posts = () => bench.calls().filter((call) => call.startsWith("POST /api/folders"));
    await bench.run("/day 1/a", pair, operations, { madeFolder: (folder) => void heard.push(`${folder} after ${posts().length} calls`) });
    expect(heard).toEqual(["/day 1 after 0 calls"]);
    expect(posts()).toHaveLength(1);
  });

  it("are not the lab's own if somebody else makes them at the same moment", async () => {
    await using bench = await eveBench({ edition });
    const heard: string[] = [];
    const { operations } = await bench.plan("/day 1/a", pair);
    const madeFolder = (folder: string, isOurs: boolean) => {
      heard.push(`${folder} ${isOurs}`);
      if (isOurs) bench.fake.addFolder(folder);
    };
    await bench.run("/day 1/a", pair, operations, { madeFolder });
    expect(heard).toEqual(["/day 1 true", "/day 1 false"]);
  });

  it("keep a lab that somebody puts into one at the moment of its removal", async () => {
    await using bench = await eveBench({ edition });
    bench.fake.addFolder("/courses");
    const transport = new HostTransport({ url: bench.fake.url, pin: undefined, plainHttp: true });
    const account = await EveAccount.open(transport, "admin", "eve");
    const call: EveAccount["call"] = async (one) => {
      const answer = await account.call(one);
      // The folder has its temporary name now, and the lab was already being created.
      if (one.method === "PUT") bench.fake.putLabFile(`${(one.body as { readonly path: string }).path}/late.unl`, "<lab/>");
      return answer;
    };
    expect(await removeEmptyFolder({ call }, "/courses")).toBe(false);
    expect(bench.fake.labFile("/courses/late.unl")).toBe("<lab/>");
    transport.close();
  });
});
