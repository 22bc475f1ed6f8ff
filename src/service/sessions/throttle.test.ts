import { setTimeout as delay } from "node:timers/promises";
import { beforeEach, expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import { LoginThrottle, type ThrottleLimits } from "./throttle.ts";

const minute = 60_000;
const patient = new AbortController().signal;
let now = 0;
let started: string[];

beforeEach(() => {
  now = Date.UTC(2026, 0, 1);
  started = [];
});

function throttle(limits: Partial<ThrottleLimits> = {}): LoginThrottle {
  return new LoginThrottle({ now: () => now }, { addressSpacingMs: 20, nameSpacingMs: 20, ...limits });
}

interface Try {
  readonly user: string;
  readonly address?: string;
  readonly right?: boolean;
  readonly ms?: number;
  readonly signal?: AbortSignal;
}

/** "in", or the code of the failure. */
async function attempt(on: LoginThrottle, { user, address = "10.0.0.1", right = false, ms = 0, signal = patient }: Try): Promise<string> {
  const check = async () => {
    started.push(user);
    await delay(ms);
    if (!right) throw new Failure("invalid_credentials", "wrong user name or password");
    return "in";
  };
  return on.attempt(user, address, signal, check).catch((error: Error) => (error instanceof Failure ? error.code : error.name));
}

async function wrong(on: LoginThrottle, count: number, options: (index: number) => Try): Promise<void> {
  for (let index = 0; index < count; index++) expect(await attempt(on, options(index))).toBe("invalid_credentials");
}

test("a correct password gets in after many wrong ones for other names from the same address", async () => {
  const on = throttle();
  await wrong(on, 40, (index) => ({ user: `made-up-${index}` }));
  expect(await attempt(on, { user: "admin", right: true })).toBe("in");
});

test("any number of correct logins at once get in, also right after wrong ones", async () => {
  const on = throttle();
  await wrong(on, 4, () => ({ user: "ann" }));
  await wrong(on, 30, (index) => ({ user: `made-up-${index}` }));
  const all = await Promise.all(Array.from({ length: 12 }, () => attempt(on, { user: "ann", right: true, ms: 2 })));
  expect(new Set(all)).toEqual(new Set(["in"]));
});

test("a name from one address waits after five wrong passwords, also when they come at once, and other addresses do not", async () => {
  const on = throttle();
  const codes = await Promise.all(Array.from({ length: 20 }, () => attempt(on, { user: "ann", ms: 1 })));
  expect(codes.filter((code) => code === "invalid_credentials")).toHaveLength(5);
  expect(codes.filter((code) => code === "rate_limited")).toHaveLength(15);
  expect(started).toHaveLength(5);
  expect(await attempt(on, { user: "ann", right: true })).toBe("rate_limited");
  expect(await attempt(on, { user: "ann", right: true, address: "10.0.0.2" })).toBe("in");
  now += 1000;
  expect(await attempt(on, { user: "ann", right: true })).toBe("in");
});

test("the wait of a name doubles, and is forgotten with the wrong passwords", async () => {
  const on = throttle();
  await wrong(on, 5, () => ({ user: "ann" }));
  for (const seconds of [1, 2, 4, 8, 16, 32]) {
    const refused = await on.attempt("ann", "10.0.0.1", patient, async () => "in").catch((error: Failure) => error);
    expect(refused).toMatchObject({ code: "rate_limited", retryAfter: seconds });
    now += seconds * 1000;
    expect(await attempt(on, { user: "ann" })).toBe("invalid_credentials");
  }
  now += 15 * minute;
  await wrong(on, 5, () => ({ user: "ann" }));
  expect(await attempt(on, { user: "ann" })).toBe("rate_limited");
});

test("an address that tries many names is slowed down, and is quick again some minutes later", async () => {
  const on = throttle({ addressSpacingMs: 200 });
  await wrong(on, 20, (index) => ({ user: `made-up-${index}` }));
  const count = async () => {
    started = [];
    const leave = new AbortController();
    const tries = Array.from({ length: 10 }, (_, index) => attempt(on, { user: `more-${index}`, signal: leave.signal }));
    await attempt(on, { user: "neighbour", address: "10.0.0.9" });
    const begun = started.filter((user) => user !== "neighbour").length;
    leave.abort();
    await Promise.all(tries);
    return begun;
  };
  // The first begins, the others keep their distance.
  expect(await count()).toBe(1);
  now += 10 * minute;
  expect(await count()).toBeGreaterThan(1);
});

test("of the tries that wait the newest goes first, so that a person is not behind a guesser's", async () => {
  const on = throttle();
  await wrong(on, 20, (index) => ({ user: `made-up-${index}` }));
  started = [];
  const flood = Array.from({ length: 30 }, (_, index) => attempt(on, { user: `guess-${index}` }));
  expect(await attempt(on, { user: "ann", right: true })).toBe("in");
  expect(started.length).toBeLessThan(5);
  expect(new Set(await Promise.all(flood))).toEqual(new Set(["invalid_credentials"]));
});

test("a name that is tried from many addresses is slowed down, but not where it has signed in before", async () => {
  const on = throttle({ name: 30, nameSpacingMs: 60_000 });
  expect(await attempt(on, { user: "ann", right: true, address: "10.0.0.1" })).toBe("in");
  await wrong(on, 30, (index) => ({ user: "ann", address: `10.1.0.${index}` }));
  await wrong(on, 1, () => ({ user: "ann", address: "10.2.0.1" }));
  const leave = new AbortController();
  const waiting = attempt(on, { user: "ann", address: "10.2.0.2", signal: leave.signal });
  expect(await attempt(on, { user: "ann", right: true, address: "10.0.0.1" })).toBe("in");
  expect(await attempt(on, { user: "bob", right: true, address: "10.2.0.2" })).toBe("in");
  leave.abort();
  expect(await waiting).toBe("AbortError");
  expect(started.filter((user) => user === "ann")).toHaveLength(33);
});

test("addresses of one IPv6 network count as one", async () => {
  const on = throttle();
  for (const address of ["2001:db8::1", "2001:db8::2", "2001:db8:0:0:1::", "2001:db8::ffff:1", "2001:db8:0:0::9"]) {
    await wrong(on, 1, () => ({ user: "ann", address }));
  }
  expect(await attempt(on, { user: "ann", right: true, address: "2001:db8::77" })).toBe("rate_limited");
  expect(await attempt(on, { user: "ann", right: true, address: "2001:db8:0:1::77" })).toBe("in");
  expect(await attempt(on, { user: "ann", right: true, address: "::ffff:10.0.0.1" })).toBe("in");
});

test("a failed login on an unreachable host does not count as a wrong password", async () => {
  const on = throttle();
  const away = async () => {
    throw new Failure("host_unreachable", "no connection");
  };
  for (let index = 0; index < 30; index++)
    await expect(on.attempt("ann", "10.0.0.1", patient, away)).rejects.toMatchObject({ code: "host_unreachable" });
  expect(await attempt(on, { user: "ann", right: true })).toBe("in");
});

test("a client that disconnects while waiting does not delay other clients", async () => {
  const on = throttle();
  const leave = new AbortController();
  const running = Array.from({ length: 5 }, () => attempt(on, { user: "ann", right: true, ms: 20 }));
  const gone = Array.from({ length: 3 }, () => attempt(on, { user: "ann", right: true, signal: leave.signal }));
  const last = attempt(on, { user: "ann", right: true });
  leave.abort();
  expect(await Promise.all([...running, last])).toEqual(Array.from({ length: 6 }, () => "in"));
  expect(await Promise.all(gone)).toEqual(["AbortError", "AbortError", "AbortError"]);
});

test("at most some hundred tries wait; beyond that the oldest try is refused", async () => {
  const on = throttle({ addressSpacingMs: 60_000 });
  await wrong(on, 20, (index) => ({ user: `made-up-${index}` }));
  const leave = new AbortController();
  const flood = Array.from({ length: 400 }, (_, index) => attempt(on, { user: `guess-${index}`, signal: leave.signal }));
  expect(await flood[1]).toBe("rate_limited");
  leave.abort();
  const codes = await Promise.all(flood);
  expect(codes.filter((code) => code === "AbortError")).toHaveLength(256);
});
