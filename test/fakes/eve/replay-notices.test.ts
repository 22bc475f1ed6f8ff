import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { writeZip } from "../../../src/files/zip/zip.ts";
import { multipart, type RawAnswer, send } from "./raw-request.ts";
import { type FakeEve, startFakeEve } from "./server.ts";

/*
 * Answers of a real Community 5.0.1 host whose PHP 7.4 shows notices. Each transcript was recorded on a host of its own, so each is replayed on
 * a fake of its own. Status and body must be the same except UUIDs, times, and the load of the machine; of an error page its type, code,
 * message, file and line; of the host's files the whole text.
 */
const transcripts = {
  auth: 38,
  extras: 122,
  limits: 59,
  "linux-firstmac": 50,
  names: 88,
  "number-clash": 41,
  "other-admin": 32,
  "power-failures": 74,
  "stuck-status": 36,
} as const;

/** One line of a transcript: a request and its answer, or a file of the host. */
interface Recorded {
  /** Changes made to the host itself before. */
  readonly before?: readonly Meanwhile[];
  readonly method?: string;
  readonly path?: string;
  readonly body?: string;
  /** A lab's file in an archive. */
  readonly upload?: { readonly path: string; readonly file: string; readonly text?: string };
  readonly as?: "admin" | "second";
  /** Which login's cookie is sent, counted from 1; 0 for none. Absent: that of the last login. */
  readonly cookie?: number;
  readonly status?: number;
  readonly answer?: string;
  readonly page?: { readonly type: string; readonly code?: number; readonly message: string; readonly file: string; readonly line: number };
  readonly file?: string;
  /** Absent: the file is gone. */
  readonly text?: string;
}

interface Meanwhile {
  readonly removeLock?: string;
  readonly leaveLock?: string;
  /** A node whose directory gets a .lock. */
  readonly stick?: number;
  readonly occupy?: number;
  readonly free?: number;
  readonly expire?: string;
  /** The disk is full for the next start. */
  readonly failPreparation?: boolean;
  readonly failStart?: 11 | 12;
  /** So many nodes run. */
  readonly running?: number;
}

const users = [
  { username: "admin", password: "eve", name: "Eve-NG Administrator", email: "root@localhost" },
  { username: "second", password: "eve", name: "Second", email: "s@localhost" },
];
const images = {
  linux: ["linux-tiny"],
  vios: ["vios-adventerprisek9-m-15.6.2T"],
  iol: ["i86bi-linux-l3-adventerprisek9-15.4.1T.bin"],
  c7200: ["c7200-adventerprisek9-mz.152-4.S6.image"],
};

describe("a recorded host with visible notices", () => {
  test.each(Object.entries(transcripts))("%s: all of %i answers are the same", async (name, count) => {
    const steps = readFileSync(new URL(`recorded/php74/${name}.jsonl`, import.meta.url), "utf8")
      .trimEnd()
      .split("\n");
    expect(steps).toHaveLength(count);
    await using eve = await startFakeEve({ notices: "visible", latency: "none", lockTimeoutMs: 50, users, images, clouds: 1 });
    const [recorded, fake] = [names(), names()];
    const logins: string[] = [];
    const cookies: Record<string, string> = {};
    for (const user of ["admin", "second"] as const) cookies[user] = await signIn(eve, user);
    let last = cookies["admin"];
    let stuckLab = "";
    const expected: unknown[] = [];
    const got: unknown[] = [];
    for (const [index, line] of steps.entries()) {
      const step = JSON.parse(line) as Recorded;
      for (const each of step.before ?? []) await meanwhile(eve, each, stuckLab);
      const place = `${name} ${index + 1}: ${step.method ?? "file"} ${step.path ?? step.file}`;
      if (step.file !== undefined) {
        got.push([place, fake(eve.labFile(step.file)?.trimEnd())]);
        expected.push([place, recorded(step.text)]);
        continue;
      }
      const { method = "", path = "" } = step;
      const cookie =
        step.as !== undefined
          ? cookies[step.as]
          : step.cookie === 0
            ? undefined
            : step.cookie !== undefined
              ? logins[step.cookie - 1]
              : last;
      const upload = step.upload === undefined ? {} : uploaded(step.upload);
      const answer = await send(eve, { method, path: encodeURI(path), host: "eve.lab", cookie, body: step.body, ...upload });
      const set = cookieOf(answer);
      if (set !== undefined && path === "/api/auth/login") {
        logins.push(set);
        last = set;
        cookies[(JSON.parse(step.body ?? "") as { username: string }).username] = set;
      }
      if (path.endsWith(".unl/nodes") && method === "POST") stuckLab = path.slice("/api/labs".length, -"/nodes".length);
      got.push([place, ...shown(answer, fake)]);
      expected.push([place, step.status, ...(step.page ? [step.page] : [masked(recorded(step.answer))])]);
    }
    expect(got).toEqual(expected);
    expect(eve.defects).toEqual([]);
  });
});

async function meanwhile(eve: FakeEve, done: Meanwhile, lab: string): Promise<void> {
  if (done.removeLock !== undefined) eve.removeLock(done.removeLock);
  if (done.leaveLock !== undefined) eve.leaveLock(done.leaveLock);
  if (done.stick !== undefined) await eve.stickNode(lab, done.stick);
  if (done.occupy !== undefined) eve.occupyPort(done.occupy);
  if (done.free !== undefined) eve.freePort(done.free);
  if (done.expire !== undefined) eve.expireSession(done.expire);
  if (done.failPreparation) eve.failNextStart({ code: 12, keepLock: true });
  if (done.failStart !== undefined) eve.failNextStart({ code: done.failStart });
  if (done.running !== undefined) expect(eve.running()).toHaveLength(done.running);
}

async function signIn(eve: FakeEve, username: string): Promise<string> {
  const body = JSON.stringify({ username, password: "eve", html5: "-1" });
  return cookieOf(await send(eve, { method: "POST", path: "/api/auth/login", host: "eve.lab", body })) ?? "";
}

function cookieOf({ headers }: RawAnswer): string | undefined {
  return headers.find(([header]) => header === "Set-Cookie")?.[1].split(";")[0];
}

function uploaded({ path, file, text = "" }: NonNullable<Recorded["upload"]>): { readonly body: Buffer; readonly contentType: string } {
  const isArchive = file !== "junk.unl";
  const data = isArchive ? writeZip([{ name: file, data: Buffer.from(text) }]) : Buffer.from("junk");
  return multipart(path, "lab.zip", Buffer.from(data));
}

function shown({ status, body }: RawAnswer, fake: (text: string) => string): readonly unknown[] {
  const text = body.toString("utf8");
  const field = (name: string) => new RegExp(`<strong>${name}:</strong> ([^]*?)</div>`).exec(text)?.[1]?.replaceAll("\r", "");
  if (!text.startsWith("<html>")) return [status, masked(fake(text))];
  const code = field("Code");
  const [type, message, file, line] = [field("Type"), field("Message"), field("File"), Number(field("Line"))];
  return [status, { type, ...(code !== undefined && { code: Number(code) }), message, file, line }];
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Names the UUIDs of one side in the order in which they appear. */
function names(): <Text extends string | undefined>(text: Text) => Text {
  const known = new Map<string, string>();
  return (text) =>
    text?.replaceAll(uuid, (id) => {
      const name = known.get(id) ?? `uuid-${known.size + 1}`;
      known.set(id, name);
      return name;
    }) as typeof text;
}

function masked(text: string | undefined): string | undefined {
  return text
    ?.replaceAll(/"(umtime|session|cpu|disk|cached|mem|swap)":"?\d+"?(?=[,}])/g, '"$1":…')
    .replaceAll(/"(mtime|qemu_version|ip)":"[^"]*"/g, '"$1":…')
    .replaceAll(/export-\d+-\d+/g, "export-…");
}
