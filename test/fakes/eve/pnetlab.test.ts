import { expect, test } from "vitest";
import { node } from "./client.fixture.ts";
import { send } from "./raw-request.ts";
import { type FakeEve, startFakeEve } from "./server.ts";

type Post = (path: string, body?: object) => Promise<{ status: number; json: ReturnType<typeof JSON.parse> }>;

async function signIn(eve: FakeEve): Promise<{ readonly post: Post; readonly get: Post }> {
  const welcome = await send(eve, { method: "GET", path: "/store/public/auth/login/manager", host: eve.address });
  const cookies = welcome.headers.flatMap(([name, value]) => (name === "Set-Cookie" ? [value.split(";")[0]] : []));
  expect(cookies).toHaveLength(2);
  const { headers } = await fetch(`${eve.url}/store/public/auth/login/login`, {
    method: "POST",
    headers: { "X-XSRF-TOKEN": "a/token=", Cookie: cookies.join("; ") },
    body: JSON.stringify({ username: "admin", password: "pnet", html: "0", captcha: "" }),
  });
  const cookie = headers.get("set-cookie")?.split(";")[0];
  expect(cookie).toMatch(/^token=/);
  const ask = (method: string) => async (path: string, body?: object) => {
    const answer = await send(eve, { method, path: `/api${path}`, host: eve.address, cookie, body: body && JSON.stringify(body) });
    return { status: answer.status, json: JSON.parse(answer.body.toString()) };
  };
  return { post: ask("POST"), get: ask("GET") };
}

const options = { edition: "pnetlab", latency: "none", users: [{ username: "admin", password: "pnet" }] } as const;

test("a lab is changed in a session only, and not while it is locked", async () => {
  await using eve = await startFakeEve(options);
  const { post, get } = await signIn(eve);
  expect((await post("/labs", { path: "/", name: "x" })).json.code).toBe(200);
  expect(await get("/labs/session/nodes")).toMatchObject({ status: 400, json: { message: "NO_LAB_SESSION" } });
  expect((await post("/labs/session/factory/create", { path: "/x.unl" })).json.message).toBe("success");
  expect((await get("/auth")).json.data.lab).toBe("1");
  for (const name of ["a", "b"]) expect((await post("/labs/session/nodes/add", node(name))).status).toBe(201);
  const linked = await post("/labs/session/networks/p2p", { src_id: 1, src_if: 0, dest_id: 2, dest_if: 0, name: "ab" });
  expect(linked.json.update.networks["1"]).toMatchObject({ visibility: 0 });
  await post("/labs/session/nodes/start", { id: 1 });
  expect((await post("/labs/session/nodestatus")).json.data).toEqual({ 1: 2, 2: 0 });
  expect(eve.running()).toMatchObject([{ name: "a", port: 30001 }]);
  await post("/labs/session/interfaces/setquality", { node_id: 1, interface_id: 0, delay: 10 });
  const quality = await get("/labs/session/interface?node_id=1&interface_id=0");
  expect(quality.json.message).toMatchObject({ node: "a", quality: { delay: 10 } });
  await post("/labs/session/lab/lock", { password: "x" });
  expect((await post("/labs/session/nodes/add", node("c"))).json.message).toBe("This lab is locked, Please unlock it first");
  await post("/labs/session/factory/destroy", { lab_session: 1 });
  expect(eve.running()).toEqual([]);
  expect(eve.defects).toEqual([]);
});

test("it is not EVE-NG: there is no login and no session as there", async () => {
  await using eve = await startFakeEve(options);
  const body = JSON.stringify({ username: "admin", password: "pnet", html5: "-1" });
  expect((await send(eve, { method: "POST", path: "/api/auth/login", host: eve.address, body })).status).toBe(404);
  expect((await send(eve, { method: "GET", path: "/api/folders?path=/", host: eve.address })).status).toBe(412);
});
