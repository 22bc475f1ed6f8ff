import { connect, LabwrightError } from "../../src/client/browser.ts";

/** Uses the SDK from login to destroy, without Node. Returns the results. */
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
  const summary = (error: unknown) =>
    error instanceof LabwrightError ? [error.status, error.code, typeof error.requestId] : String(error);
  return {
    signedIn: typeof token === "string" && client.token === undefined,
    creates: plan.summary?.creates,
    nodes: deployed.nodes,
    progressed: steps.length > 0,
    seen,
    frr: templates.templates?.some(({ id }) => id === "frr"),
    refused: summary(refused),
    gone: summary(gone),
    stranger: summary(stranger),
    away: summary(away),
  };
}

/** Uses the cookie instead of the token, and opens a console over a WebSocket. Returns its output. */
export async function consoleByCookie(): Promise<string> {
  const first = connect();
  await first.login({ username: "ann", password: "ann-password" });
  await first.createBrowserSession({});
  const client = connect();
  await client.deployProject({ yaml: "name: cookie\nnodes:\n  r1: {template: frr}\n" });
  const socket = await client.openConsole({ lab: "/cookie", node: "r1" });
  const output = await new Promise<string>((resolve) => {
    let received = "";
    socket.addEventListener("message", ({ data }) => {
      received += new TextDecoder().decode(data as ArrayBuffer);
      if (/\r\nover here\r\n/.test(received)) resolve(received);
    });
    socket.send(new TextEncoder().encode("echo over here\r"));
  });
  socket.close();
  await client.destroyProject({ lab: "/cookie" });
  return output;
}
