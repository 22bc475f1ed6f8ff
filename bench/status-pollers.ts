/**
 * Polls the status of one lab in a process of its own. It measures the time until the last byte of an answer, without parsing, and prints the milliseconds of
 * each call as JSON. Environment: TOKEN. Arguments: the service's URL, the file of its certificate, the lab, the number of pollers, the time between the starts
 * of two calls of a poller in ms (0: the next call starts with the answer), the duration in ms.
 */
import { readFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { setTimeout as delay } from "node:timers/promises";

const [url = "", certificate = "", lab = "", ...numbers] = process.argv.slice(2);
const [pollers = 1, everyMs = 0, pollingMs = 0] = numbers.map(Number);
const ca = await readFile(certificate);
const body = JSON.stringify({ lab });
const headers = {
  authorization: `Bearer ${process.env.TOKEN}`,
  "content-type": "application/json",
  "content-length": String(Buffer.byteLength(body)),
};

const agents = Array.from(
  { length: pollers },
  () => new Agent({ keepAlive: true, maxSockets: 1, ca, checkServerIdentity: () => undefined }),
);
// A handshake costs as much as many answers: polling begins when all are connected, and no connection ends before all have polled.
for (const agent of agents) await ask(agent);
const ms: number[] = [];
await Promise.all(agents.map((agent, poller) => poll(agent, (poller * everyMs) / pollers)));
for (const agent of agents) agent.destroy();
console.log(JSON.stringify(ms));

async function poll(agent: Agent, beginMs: number): Promise<void> {
  await delay(beginMs);
  const end = performance.now() + pollingMs;
  while (performance.now() < end) {
    const begin = performance.now();
    await ask(agent);
    const took = performance.now() - begin;
    ms.push(took);
    if (took < everyMs) await delay(everyMs - took);
  }
}

function ask(agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/api/v1/projects/status`, { method: "POST", agent, headers }, (answer) => {
      let size = 0;
      answer.on("data", (chunk: Buffer) => {
        size += chunk.length;
      });
      answer.once("error", reject);
      answer.once("end", () => {
        const whole = answer.statusCode === 200 && size === Number(answer.headers["content-length"]);
        if (whole) resolve();
        else reject(new Error(`a poll was answered ${answer.statusCode} with ${size} bytes`));
      });
    });
    // On a busy machine the service may end an idle connection while the others are still being made.
    const isStale = (error: NodeJS.ErrnoException) => sent.reusedSocket && error.code === "ECONNRESET";
    sent.once("error", (error) => (isStale(error) ? ask(agent).then(resolve, reject) : reject(error)));
    sent.end(body);
  });
}
