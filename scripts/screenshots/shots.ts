import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import type { RawClient } from "../../test/wire/raw-client.ts";

export interface Stage {
  readonly page: Page;
  readonly client: RawClient;
  /** Opens a page by its path below /ui. */
  readonly at: (path: string) => Promise<unknown>;
}

/** A picture: its name, and the steps that lead to its content. */
export interface Shot {
  readonly name: string;
  /** Default: only light. A dark picture has "-dark" in its name. */
  readonly schemes?: readonly ("light" | "dark")[];
  /** The share of pixels that may differ in the next run. Larger than usual for pictures with many times, addresses and rates. */
  readonly tolerance?: number;
  /** Default 800. */
  readonly height?: number;
  readonly show: (stage: Stage) => Promise<void>;
}

const triangle = "/labs/ospf-triangle";
const both = ["light", "dark"] as const;

/** Every page of the web UI behind the sign-in, in the order of the documentation. */
export const shots: readonly Shot[] = [
  {
    name: "labs",
    show: async ({ page, at }) => {
      await at("/");
      await page.getByRole("rowheader", { name: /two-hosts/ }).waitFor();
    },
  },
  {
    name: "new-lab",
    show: async ({ page, at }) => {
      await at("/new");
      await page.getByRole("button", { name: "Deploy" }).waitFor();
    },
  },
  {
    name: "import",
    show: async ({ page, at }) => {
      await at("/new");
      const path = fileURLToPath(new URL("../../src/importers/formats/eve/samples/wan-serial.unl", import.meta.url));
      await page.getByLabel("Choose files…").setInputFiles(path);
      await page.getByRole("region", { name: "Report" }).waitFor();
    },
  },
  {
    name: "share",
    show: async ({ page, at }) => {
      await at(triangle);
      await page.getByRole("button", { name: "Share…" }).click();
      await page.getByRole("dialog").getByRole("textbox").first().waitFor();
    },
  },
  {
    name: "topology",
    schemes: both,
    show: async ({ page, at }) => {
      await at(triangle);
      await page.getByRole("button", { name: /^r1, router, running/ }).click();
      await page.getByRole("complementary", { name: "Node r1" }).getByText("r2:eth1").first().waitFor();
    },
  },
  {
    name: "traffic",
    tolerance: 0.02,
    show: async ({ page, client, at }) => {
      await page.emulateMedia({ reducedMotion: "no-preference" });
      await client.post("/api/v1/console/exec", {
        lab: "/ospf-triangle",
        node: "h2",
        command: "ping -i 0.2 -w 25 192.168.3.10 > /dev/null 2>&1 &",
        timeout_ms: 60_000,
      });
      await at(`${triangle}?traffic=1`);
      for (const protocol of ["ICMP", "OSPF"]) await page.getByRole("checkbox", { name: new RegExp(`^${protocol} .*packets/s`) }).waitFor();
    },
  },
  {
    name: "drawer",
    tolerance: 0.006,
    show: async ({ page, at }) => {
      await at(`${triangle}?drawer=nodes`);
      await page.getByRole("row", { name: /^r3 .*192\.168\.3\.1/ }).waitFor();
      await page.getByRole("button", { name: /^r3, router, running/ }).waitFor();
    },
  },
  {
    name: "link",
    tolerance: 0.006,
    height: 1080,
    show: async ({ page, client, at }) => {
      const endpoints = ["r1:eth1", "r2:eth1"];
      await client.post("/api/v1/projects/links/quality", {
        lab: "/ospf-triangle",
        endpoints,
        a: { delay: 20 },
        b: { delay: 20, loss: 1 },
      });
      await at(triangle);
      await page.getByRole("button", { name: /^Link r1:eth1 to r2:eth1/ }).press("Enter");
      const panel = page.getByRole("complementary", { name: "Link r1:eth1 to r2:eth1" });
      const command = "ping -c 60 -i 0.2 192.168.2.10";
      const pinging = client.post("/api/v1/console/exec", { lab: "/ospf-triangle", node: "h1", command, timeout_ms: 60_000 });
      await panel.getByText(/^Pings that leave r1:eth1: [1-4]\d answered/).waitFor();
      await pinging;
    },
  },
  {
    name: "plan",
    schemes: both,
    height: 1080,
    show: async ({ page, at }) => {
      await at(`${triangle}?view=plan`);
      const editor = page.getByRole("textbox", { name: "The lab as YAML" });
      await editor.getByText("ospf-triangle").first().waitFor();
      const { yaml } = (await page.evaluate(
        `fetch("/api/v1/projects/public", {method: "POST", headers: {"X-Labwright-Csrf": "1", "Content-Type": "application/json"}, body: '{"lab":"/ospf-triangle","as_written":true}'}).then((answer) => answer.json()).then(({ data }) => data)`,
      )) as { readonly yaml: string };
      await editor.press("Control+a");
      await editor.press("Backspace");
      const more = "  h4: # a second host behind r3\n    kind: host\n    position: {x: 580, y: 160}\nlinks:\n";
      await page.keyboard.insertText(yaml.replace("links:\n", more).replace("tests:\n", '  - ["r3:eth3", "h4:eth0"]\ntests:\n'));
      await page.getByRole("button", { name: "Plan", exact: true }).click();
      await page.getByText("create node h4").waitFor();
      page.once("dialog", (dialog) => void dialog.accept());
    },
  },
  {
    name: "consoles",
    tolerance: 0.006,
    schemes: both,
    show: async ({ page, at }) => {
      await at(`${triangle}?view=consoles&node=r1`);
      await page.getByRole("button", { name: "Side by side", exact: true }).click();
      for (const [node, command] of [
        ["r1", "show ip route ospf"],
        ["r2", "show ip ospf neighbor"],
        ["h1", "ip address show dev eth0"],
        ["h3", "ping -c 3 192.168.1.10"],
      ] as const) {
        await page
          .getByRole("navigation", { name: "Consoles" })
          .getByRole("button", { name: new RegExp(`^${node} `) })
          .click();
        const tile = page.getByRole("region", { name: `Console of ${node}`, exact: true });
        await tile.getByText("Connected", { exact: true }).waitFor();
        await tile.getByRole("textbox", { name: `Console of ${node}` }).focus();
        await page.keyboard.type(`${command}\n`);
        await tile.getByText(command.slice(-8)).first().waitFor();
      }
      await page.getByRole("region", { name: "Console of h3" }).getByText("packet loss").waitFor();
    },
  },
  {
    name: "broadcast",
    tolerance: 0.006,
    show: async ({ page, at }) => {
      await at(`${triangle}?view=consoles`);
      await page.getByRole("button", { name: "One command, many nodes" }).click();
      for (const node of ["h1", "h2", "h3"]) await page.getByRole("checkbox", { name: node }).uncheck();
      await page.getByLabel("Command", { exact: true }).fill("show ip ospf neighbor");
      await page.getByRole("button", { name: "Run on 3 nodes" }).click();
      for (const node of ["r1", "r2", "r3"])
        await page
          .getByRole("article", { name: `Answer of ${node}` })
          .getByText(/^ok, /)
          .waitFor();
    },
  },
  {
    name: "capture",
    tolerance: 0.012,
    schemes: both,
    show: async ({ page, client, at }) => {
      const capture = { lab: "/ospf-triangle", node: "r1", interface: "eth1", filter: "icmp" };
      const { json } = await client.post("/api/v1/projects/capture", capture);
      const id = json.data.capture as string;
      const command = "ping -c 4 -i 0.3 192.168.2.10";
      await client.post("/api/v1/console/exec", { lab: "/ospf-triangle", node: "h1", command, timeout_ms: 30_000 });
      await client.post(`/api/v1/projects/captures/${id}/stop`, {});
      await at(`/captures/${id}`);
      await page
        .getByText(/Echo \(ping\) request/)
        .first()
        .click();
    },
  },
  {
    name: "captures",
    tolerance: 0.012,
    show: async ({ page, at }) => {
      await at(`${triangle}?view=captures`);
      await page.getByText("r1:eth1").first().waitFor();
    },
  },
  // Last: its text is not applied, and leaving it would be asked about.
  {
    name: "drawing",
    show: async ({ page, at }) => {
      await at("/labs/two-hosts");
      await page.getByRole("button", { name: "Add", exact: true }).click();
      await page.getByRole("region", { name: "Add to the lab" }).getByRole("button", { name: "frr", exact: true }).click();
      await page.getByRole("button", { name: /^r1, / }).waitFor();
      await page
        .getByText(/adds r1/)
        .first()
        .waitFor();
      await page.getByRole("button", { name: "Text", exact: true }).click();
      await page.locator(".text-pane .editor").getByText("two-hosts").first().waitFor();
      // A frame around a host.
      await page.getByRole("region", { name: "Add to the lab" }).getByRole("button", { name: "rectangle" }).click();
      const { x, y, width, height } = (await page.getByRole("button", { name: /^b, / }).boundingBox())!;
      await page.mouse.move(x - 40, y - 40);
      await page.mouse.down();
      await page.mouse.move(x + width + 40, y + height + 30, { steps: 5 });
      await page.mouse.up();
      const panel = page.getByRole("complementary", { name: /^Rectangle/ });
      await panel.getByRole("checkbox", { name: "Filled" }).click();
      await page.locator(".text-pane .editor").getByText("fill:").waitFor();
      await panel.getByRole("button", { name: "Close" }).click();
      await page.getByRole("button", { name: "Apply", disabled: false }).waitFor();
    },
  },
];
