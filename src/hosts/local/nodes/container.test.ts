import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tarArchive } from "../../../files/tar/tar-writer.ts";
import { testedProgram } from "../../../files/tested-program.fixture.ts";
import type { NodeProgram } from "../../host-processes.ts";
import { busyboxLayer, configOf, dockerArchive, file } from "../containers/tests/archive.fixture.ts";
import { findImages } from "../images/images.ts";
import { localPaths } from "../machine/paths.ts";
import { eventually, labOf, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";

const httpd = { Entrypoint: ["/bin/httpd", "-f", "-p", "80"], Cmd: ["-h", "/srv"], WorkingDir: "/srv" };

describe.skipIf(process.getuid?.() !== 0)("container nodes", () => {
  let local: TestLocalHost;
  let images: string;
  const image = (...argv: readonly string[]) => {
    const env = { ...process.env, LABWRIGHT_STATE_DIR: local.paths.state, LABWRIGHT_IMAGE_DIR: images };
    return execFileSync(process.execPath, [testedProgram("hosts/local/containers/main"), ...argv], {
      env,
      encoding: "utf8",
      stdio: "pipe",
    });
  };

  beforeAll(async () => {
    images = await mkdtemp(join(tmpdir(), "labwright-images-"));
    await chmod(images, 0o711);
    const machine = localPaths(process.env, 0);
    const base = (await findImages(machine.images)).find(({ name }) => name === "base")!;
    await symlink(dirname(base.rootfs), join(images, basename(dirname(base.rootfs))));
    local = await testLocalHost({ images, stopGrace: { node: 60_000 } });
    const system = busyboxLayer(base.rootfs);
    const web = tarArchive([file("srv/index.html", "hello from a container\n"), file("etc/.wh.group", "")]);
    const archives: (readonly [string, Buffer])[] = [
      ["web", dockerArchive([system, web], configOf([system, web], httpd), ["web:1"])],
      [
        "shell",
        dockerArchive([system], configOf([system], { Env: ["FROM_IMAGE=yes", "BOTH=image"], Cmd: ["/bin/sh"], User: "web" }), ["shell:1"]),
      ],
    ];
    const nginx = `trap 'echo quits > /said; exit 0' QUIT; trap 'echo wrong > /said' TERM HUP; echo up; while :; do sleep 0.1; done`;
    for (const [name, StopSignal] of [
      ["stop:1", "SIGQUIT"],
      ["stop:2", "SIGRTMIN+3"],
    ] as const)
      archives.push([
        name.replace(":", ""),
        dockerArchive([system], configOf([system], { Cmd: ["/bin/sh", "-c", nginx], StopSignal }), [name]),
      ]);
    for (const [name, data] of archives) {
      const path = join(images, `${name}.tar`);
      await writeFile(path, data);
      image("add", path);
      await rm(path);
    }
  });
  afterAll(async () => {
    await local[Symbol.asyncDispose]();
    await rm(images, { recursive: true, force: true });
  });

  const node = async (path: string, name: string) => (await local.session.status(path)).nodes.find((one) => one.name === name);
  const reaches = (path: string, name: string, status: string) =>
    eventually(
      `${name} is ${status}`,
      60_000,
      () => node(path, name),
      (one) => one?.status === status,
    );
  const tail = async (path: string, name: string) => {
    const found = await node(path, name);
    return (await local.sandbox(path)).tail(Number(found?.id));
  };

  test("are offered with the images that were added, none of them by default", async () => {
    const offered = (await local.session.templates()).find(({ id }) => id === "container");
    expect(offered).toMatchObject({ provisioned: true, configSupported: false, consoleType: "telnet" });
    expect(offered?.images.map(({ name, default: standard }) => [name, standard])).toEqual([
      ["shell:1", false],
      ["stop:1", false],
      ["stop:2", false],
      ["web:1", false],
    ]);
    const lab = labOf("name: none\nnodes: {a: {template: container}, b: {template: container, image: 'web:2'}}\nlinks: []\n");
    const { plan } = await local.plan("/none", lab);
    expect(plan.blocked.map(({ reason }) => reason)).toEqual([
      { code: "unknown_image", text: "template container needs an image: one of shell:1, stop:1, stop:2, web:1", field: "image" },
      {
        code: "unknown_image",
        text: "template container has no image web:2; did you mean web:1? It has shell:1, stop:1, stop:2, web:1; it cannot be pulled: it names no registry, and the host has no default registry",
        field: "image",
      },
    ]);
  });

  test("run the image's process, which answers on the lab's network; layers of one base are shared", async () => {
    const machine = createServer().listen(0, "127.0.0.1");
    await once(machine, "listening");
    const { port } = machine.address() as AddressInfo;
    machine.close();
    await once(machine, "close");
    const yaml = `name: web
nodes:
  server: {template: container, image: "web:1", ports: ["${port}:80"], attributes: {addresses: "eth0=10.0.0.1/24,2001:db8::1/64"}}
  client: {template: linux, exec: ["ip addr add 10.0.0.2/24 dev eth0", "ip addr add 2001:db8::2/64 dev eth0 nodad"]}
links:
  - ["server:eth0", "client:eth0"]
`;
    await local.deploy("/web", labOf(yaml));
    const get = (url: string) =>
      eventually(
        url,
        60_000,
        () => local.exec("/web", "client", "curl", "-s", "-m", "2", url),
        ({ code }) => code === 0,
      );
    expect((await get("http://10.0.0.1/")).stdout).toBe("hello from a container\n");
    expect((await get("http://[2001:db8::1]/")).stdout).toBe("hello from a container\n");
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("hello from a container\n");
    expect((await local.session.addresses!("/web")).get(String((await node("/web", "server"))?.id))?.get("eth0")).toContain("10.0.0.1/24");
    expect((await local.exec("/web", "server", "ls", "/etc")).stdout).toBe("passwd\n");
    const captures = local.session.captures!;
    const request = { nodeId: (await node("/web", "server"))!.id, interface: "eth0", label: "server:eth0", filter: "tcp port 80" };
    const { id } = await captures.start("/web", request);
    await get("http://10.0.0.1/");
    expect((await captures.stop("/web", id)).packets).toBeGreaterThan(0);
    const { packets } = await captures.packets("/web", id, { after: 0, limit: 10, filter: 'http.request.uri == "/"' });
    expect(packets[0]).toMatchObject({ from: "10.0.0.2", to: "10.0.0.1", summary: expect.stringContaining("GET / HTTP/1.1") });
    await captures.remove("/web", id);
    expect((await local.deploy("/web", labOf(yaml))).plan.operations).toEqual([]);
    expect(() => image("remove", "web:1")).toThrow("used by /web");
    await local.deploy("/web", null);
  });

  test("a gateway of each family is the default route, and a wrong one is refused with its node, whatever starts with it", async () => {
    const yaml = (gateway: string) => `name: routed
nodes:
  a: {template: linux}
  server: {template: container, image: "web:1", attributes: {addresses: "eth0=10.0.0.1/24,2001:db8::1/64", gateway: ${gateway}}}
  router: {template: linux, exec: ["ip addr add 10.0.0.2/24 dev eth0", "ip addr add 2001:db8::2/64 dev eth0 nodad", "ip addr add 192.0.2.1/32 dev lo", "ip addr add 2001:db8:1::1/128 dev lo"]}
links:
  - ["server:eth0", "router:eth0"]
`;
    const wrong = local.deploy("/routed", labOf(yaml("172.16.0.1")));
    await expect(wrong).rejects.toThrow(
      "node server: addresses and gateway: ip route add 0.0.0.0/0 via 172.16.0.1: Error: Nexthop has invalid",
    );
    await expect(wrong).rejects.toMatchObject({ data: { failed: "start:node:server", remaining: ["start:node:a", "start:node:router"] } });
    await local.deploy("/routed", null);
    await local.deploy("/routed", labOf(yaml('"10.0.0.2 2001:db8::2"')));
    for (const far of ["http://10.0.0.1/", "http://[2001:db8::1]/"]) {
      const source = far.includes("[") ? "2001:db8:1::1" : "192.0.2.1";
      const { stdout } = await eventually(
        `${far} from ${source}`,
        60_000,
        () => local.exec("/routed", "router", "curl", "-s", "-m", "2", "--interface", source, far),
        ({ code }) => code === 0,
      );
      expect(stdout).toBe("hello from a container\n");
    }
    await local.deploy("/routed", null);
  });

  test("take user, directory and environment from the image unless the intent overrides them, and report how they ended", async () => {
    const yaml = `name: own
nodes:
  asis: {template: container, image: "shell:1"}
  other:
    template: container
    image: "shell:1"
    env: {BOTH: node}
    exec: ["echo exec ran as $(id -u) > /tmp-exec", 'echo "it''s done"']
    attributes: {command: 'sh -c "id; pwd; env; cat /tmp-exec; exit 5"', user: "33:55", workdir: /deep/er}
  done: {template: container, image: "shell:1", attributes: {entrypoint: '["/bin/true"]'}}
  broken: {template: container, image: "shell:1", exec: ["exit 9"]}
links: []
`;
    await local.deploy("/own", labOf(yaml));
    expect(await reaches("/own", "other", "failed")).toMatchObject({ exit_code: 5 });
    expect(await reaches("/own", "broken", "failed")).toMatchObject({ exit_code: 9 });
    expect(await reaches("/own", "done", "stopped")).toMatchObject({ exit_code: 0 });
    const said = await tail("/own", "other");
    for (const line of [
      "it's done",
      "uid=33(web) gid=55(more) groups=55(more)",
      "/deep/er",
      "BOTH=node",
      "FROM_IMAGE=yes",
      "HOME=/srv",
      "exec ran as 0",
    ])
      expect(said.split("\r\n")).toContain(line);
    expect(await tail("/own", "broken")).toContain('exec: "exit 9" failed with exit code 9');
    await reaches("/own", "asis", "running");
    const live = await node("/own", "asis");
    const screen = (await local.sandbox("/own")).console(Number(live?.id));
    const stream = await screen;
    let text = "";
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    stream.write("id; echo $FROM_IMAGE $BOTH $HOME; exit 3\n");
    await eventually(
      "the shell answers",
      30_000,
      async () => text,
      (all) => all.includes("yes image /srv"),
    );
    expect(text).toContain("uid=33(web) gid=34(web) groups=34(web),55(more)");
    expect(await reaches("/own", "asis", "failed")).toMatchObject({ exit_code: 3 });
    await local.deploy("/own", null);
  });

  test("are asked to end by their image's stop signal, which their process alone gets", async () => {
    const yaml = `name: stop\nnodes:\n  a: {template: container, image: "stop:1"}\n  b: {template: container, image: "stop:2"}\nlinks: []\n`;
    await local.deploy("/stop", labOf(yaml));
    for (const name of ["a", "b"])
      await eventually(
        `${name} is up`,
        60_000,
        () => tail("/stop", name),
        (text) => text.includes("up"),
      );
    const warned: string[] = [];
    const stop = async (node: string) => {
      const operation = {
        id: node,
        of: node,
        op: "stop",
        kind: "node",
        key: node,
        reason: { code: "requested", text: "" },
        disruption: "none",
      } as const;
      const rest = { affects: [], changes: [], prune: false, step: { do: "stop", node, mode: 3 } } as const;
      const progress = {
        ids: local.ids("/stop"),
        step: () => undefined,
        warn: ({ node: key }: { readonly node: string }) => warned.push(key),
      };
      await local.session.apply("/stop", [{ ...operation, ...rest }], progress);
    };
    await stop("a");
    expect(warned).toEqual([]);
    // A real-time signal ends what does not know it.
    await stop("b");
    expect(warned).toEqual([]);
    const observed = (await local.session.observe("/stop"))!;
    const said = (name: string) => {
      const id = observed.nodes.find((one) => one.name === name)!.id;
      return join(local.paths.state, "labs", observed.id, "nodes", id, "upper", "said");
    };
    expect(await readFile(said("a"), "utf8")).toBe("quits\n");
    await expect(readFile(said("b"), "utf8")).rejects.toThrow("ENOENT");
    await local.deploy("/stop", null);
  });

  test.each([
    ["addresses: eth0=10.0.0.1", "addresses: 10.0.0.1 is not an address with a length"],
    ["user: nobody-here", "its image has no user nobody-here"],
    ["command: '\"open'", 'command has an open "'],
    ["workdir: here", "workdir is not absolute"],
  ])("with a wrong attribute (%s) are refused with its name, and nothing starts", async (attribute, words) => {
    const yaml = `name: wrong\nnodes:\n  a: {template: container, image: "shell:1", attributes: {${attribute}}}\n  b: {template: linux}\nlinks: []\n`;
    await expect(local.deploy("/wrong", labOf(yaml))).rejects.toThrow(`node a: ${words}`);
    expect((await local.session.status("/wrong")).nodes.map(({ status }) => status)).toEqual(["stopped", "stopped"]);
    await local.deploy("/wrong", null);
  });

  test("run programs beside their main process, and get files from the intent", async () => {
    const yaml = (text: string) => `name: more
nodes:
  c: {template: container, image: "shell:1", attributes: {command: "sleep 1000"}, files: {/etc/given: {text: "${text}", owner: "1:2"}}}
`;
    await local.deploy("/more", labOf(yaml("before")));
    await reaches("/more", "c", "running");
    const run = async (...argv: readonly string[]) => ranOf({ argv });
    const ranOf = async (wanted: NodeProgram) => {
      const id = String((await node("/more", "c"))?.id);
      const program = await local.session.processes!.start("/more", id, wanted, new AbortController().signal);
      program.endInput();
      let output = "";
      for await (const item of program.output) {
        if (item.stream === "end") return { output, exitCode: item.exitCode, signal: item.signal };
        output += item.data.toString();
      }
      throw new Error("no end");
    };
    expect(await run("sh", "-c", "cat /etc/given; stat -c :%u:%g /etc/given; exit 3")).toMatchObject({
      output: "before:1:2\n",
      exitCode: 3,
    });
    await local.deploy("/more", labOf(yaml("after")));
    expect(await run("cat", "/etc/given")).toMatchObject({ output: "after", exitCode: 0 });
    // A shell with a terminal of its own, and a copy as `labwright cp` makes it.
    const terminal = { columns: 132, rows: 43 };
    expect((await ranOf({ argv: ["sh", "-c", "stty size; tty | grep -c /dev/"], terminal })).output).toBe("43 132\r\n1\r\n");
    expect((await run("sh", "-c", "cd /etc && tar -cf - given | tar -tf -")).output).toBe("given\n");
    // The end of a program never reaches the main process.
    expect(await run("sh", "-c", "kill -INT $$")).toMatchObject({ signal: 2 });
    expect((await node("/more", "c"))?.status).toBe("running");
    await local.deploy("/more", null);
  });
});
