import { multipart, type RawAnswer, send } from "./raw-request.ts";
import type { FakeEve } from "./server.ts";

export interface Answered {
  readonly status: number;
  /** The number at the end of the message. */
  readonly code: number | undefined;
  readonly json: Json;
  readonly text: string;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
export type Json = any;

/** Who is signed in, with the cookie of that session. */
export interface Client {
  call(method: string, path: string, body?: unknown): Promise<Answered>;
  import(path: string, archive: Uint8Array): Promise<Answered>;
  readonly cookie: string;
}

export async function signIn(eve: FakeEve, username = "admin", password = "eve"): Promise<Client> {
  const body = JSON.stringify({ username, password, html5: "-1" });
  const answer = await send(eve, { method: "POST", path: "/api/auth/login", host: eve.address, body });
  const cookie = answer.headers.find(([name]) => name === "Set-Cookie")?.[1].split(";")[0] ?? "";
  const call = async (method: string, path: string, sent?: unknown) =>
    answered(
      await send(eve, {
        method,
        path: `/api${path}`,
        host: eve.address,
        cookie,
        body: sent === undefined ? undefined : JSON.stringify(sent),
      }),
    );
  const upload = async (path: string, archive: Uint8Array) =>
    answered(await send(eve, { method: "POST", path: "/api/import", host: eve.address, cookie, ...multipart(path, "lab.zip", archive) }));
  return { call, import: upload, cookie };
}

function answered({ status, body }: RawAnswer): Answered {
  const text = body.toString("utf8");
  let json: Json;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  const code = /\((\d+)\)\.$/.exec(json?.message ?? "")?.[1];
  return { status, code: code === undefined ? undefined : Number(code), json, text };
}

/** All that a node needs, so that PHP 8 does not die. */
export function node(name: string, more: object = {}): object {
  return {
    template: "vpcs",
    type: "vpcs",
    name,
    image: "",
    icon: "Router.png",
    config: "0",
    delay: 0,
    left: "1",
    top: "1",
    ethernet: 1,
    ...more,
  };
}

/** Asks until the answer is the wanted one; throws with the last answer. */
export async function until<Value>(ask: () => Promise<Value>, wanted: (value: Value) => boolean, limitMs = 30_000): Promise<Value> {
  const end = Date.now() + limitMs;
  for (;;) {
    const value = await ask();
    if (wanted(value)) return value;
    if (Date.now() > end) throw new Error(`still ${JSON.stringify(value)} after ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
