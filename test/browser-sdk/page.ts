import { connect, LabwrightError } from "../../src/client/browser.ts";

/** What a page does with the SDK, from login to destroy; run without anything of Node. Answers what it saw. */
export async function page(url: string): Promise<unknown> {
  const client = connect({ url });
  const { token } = await client.login({ username: "ann", password: "ann-password" });
  const yaml = "name: page\nnodes:\n  r1: {template: frr}\n";
  const plan = await client.planProject({ yaml });
  const events = await client.events({ types: "job" });
  const { job } = await client.startJob("deployProject", { yaml });
  const steps: number[] = [];
  const deployed = await client.waitForJob("deployProject", job, { onProgress: ({ step }) => steps.push(step) });
  let seen: string | undefined;
  for await (const event of events) {
    if (event.type !== "job") continue;
    seen = event.lab;
    break;
  }
  const refused = await client.deployProject({ yaml }).catch((error: unknown) => error);
  const templates = await client.listTemplates({ provisioned: "true" });
  await client.destroyProject({ lab: "/page" });
  const gone = await client.getProjectStatus({ lab: "/page" }).catch((error: unknown) => error);
  await client.logout();
  const stranger = await client.getSession().catch((error: unknown) => error);
  const away = await connect({ url: "https://127.0.0.1:1" })
    .getHealth()
    .catch((error: unknown) => error);
  const told = (error: unknown) => (error instanceof LabwrightError ? [error.status, error.code, typeof error.requestId] : String(error));
  return {
    signedIn: typeof token === "string" && client.token === undefined,
    creates: plan.summary?.creates,
    nodes: deployed.nodes,
    looked: steps.length > 0,
    seen,
    frr: templates.templates?.some(({ id }) => id === "frr"),
    refused: told(refused),
    gone: told(gone),
    stranger: told(stranger),
    away: told(away),
  };
}

/** The cookie in place of the token, and a console over a WebSocket. Answers what the console said. */
export async function consoleByCookie(): Promise<string> {
  const first = connect();
  await first.login({ username: "ann", password: "ann-password" });
  await first.createBrowserSession({});
  const client = connect();
  await client.deployProject({ yaml: "name: cookie\nnodes:\n  r1: {template: frr}\n" });
  const socket = await client.openConsole({ lab: "/cookie", node: "r1" });
  const said = await new Promise<string>((resolve) => {
    let heard = "";
    socket.addEventListener("message", ({ data }) => {
      heard += new TextDecoder().decode(data as ArrayBuffer);
      if (/\r\nover here\r\n/.test(heard)) resolve(heard);
    });
    socket.send(new TextEncoder().encode("echo over here\r"));
  });
  socket.close();
  await client.destroyProject({ lab: "/cookie" });
  return said;
}
