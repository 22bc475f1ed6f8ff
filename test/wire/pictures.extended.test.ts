import { describe, expect, it, test } from "vitest";
import { eveFixture } from "../../src/hosts/eve/eve-host.fixture.ts";
import { readUnl, type UnlPicture, writeUnl } from "../../src/hosts/eve/lab-file/unl.ts";
import type { RawClient } from "./raw-client.ts";
import { serve } from "./served.ts";

const lab = "/drawn";
const png = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(64, 7)]);
const page = Buffer.from("<html><script>alert(document.cookie)</script></html>");
const drawing = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>');
const hotspots = "<area coords='5,5,3' href='telnet://{{IP}}:{{NODE2}}'><area coords='9,9,3' href='telnet://{{IP}}:{{NODE1}}'>";
const tasks = "# Task 1\r\n\r\nSee <b>R1</b> <script>alert(1)</script>\u202eend \u0085";
const pictures: readonly UnlPicture[] = [
  { id: 3, name: "../../ä plan.svg", type: "image/svg+xml", data: drawing.toString("base64") },
  { id: 1, name: "map", type: "image/png", width: 40, height: 20, data: png.toString("base64"), map: hotspots },
  { id: 2, name: "page", type: "text/html", width: 1, height: 1, data: page.toString("base64"), map: "" },
];

async function drawn(client: RawClient, fake: Awaited<ReturnType<typeof eveFixture>>["fake"]): Promise<void> {
  const yaml = "name: drawn\nnodes: {r1: {name: Core, template: vpcs, start: false}, r2: {template: vpcs, start: false}}\n";
  expect((await client.post("/api/v1/projects/deploy", { yaml })).status).toBe(200);
  const file = readUnl(fake.labFile("/drawn.unl") ?? "");
  fake.putLabFile("/drawn.unl", writeUnl({ ...file, pictures, body: tasks }));
}

describe.each([
  ["ce5", "hidden"],
  ["ce5", "visible"],
  ["pnetlab", "hidden"],
] as const)("on EVE-NG %s, notices %s,", (edition, notices) => {
  it("pictures are listed with the nodes that they open, and answered with a type by their bytes", async () => {
    await using eve = await eveFixture({ edition, notices });
    await using served = await serve({ host: eve.host });
    const admin = await served.signIn("admin", "eve");
    await drawn(admin, eve.fake);
    const kept = edition === "pnetlab" ? eve.fake.labFile("/drawn.unl") : undefined;
    expect((await admin.post("/api/v1/projects/pictures", { lab })).json.data).toEqual({
      lab,
      pictures: [
        { picture: "1", name: "map", media_type: "image/png", size_bytes: 72, width: 40, height: 20, nodes: ["r2", "r1"] },
        { picture: "2", name: "page", media_type: "application/octet-stream", size_bytes: page.length, width: 1, height: 1, nodes: [] },
        { picture: "3", name: "../../ä plan.svg", media_type: "application/octet-stream", size_bytes: drawing.length, nodes: [] },
      ],
    });
    const fetched = async (id: string) => admin.call("GET", `/api/v1/projects/pictures/${id}?lab=${encodeURIComponent(lab)}`);
    const first = await fetched("1");
    expect([first.status, first.headers["content-type"], first.headers["x-content-type-options"]]).toEqual([200, "image/png", "nosniff"]);
    expect(Number(first.headers["content-length"] ?? png.length)).toBe(png.length);
    for (const id of ["2", "3"]) {
      const { headers } = await fetched(id);
      expect([id, headers["content-type"]]).toEqual([id, "application/octet-stream"]);
      expect(headers["content-disposition"]).toMatch(/^attachment; filename="[A-Za-z0-9 ._-]+\.bin"$/);
      expect(headers["x-content-type-options"]).toBe("nosniff");
    }
    for (const id of ["9", "..", "x"]) expect([id, (await fetched(id)).status]).toEqual([id, 404]);
    expect((await fetched("9")).json.code).toBe("picture_not_found");
    expect((await admin.get("/api/v1/projects/pictures/1?lab=%2Fnowhere")).json.code).toBe("lab_not_found");
    // Reading changes nothing.
    if (kept !== undefined) expect(eve.fake.labFile("/drawn.unl")).toBe(kept);
  });

  it("the tasks are text without control characters, as their author wrote them", async () => {
    await using eve = await eveFixture({ edition, notices });
    await using served = await serve({ host: eve.host });
    const admin = await served.signIn("admin", "eve");
    await drawn(admin, eve.fake);
    const { json } = await admin.post("/api/v1/projects/tasks", { lab });
    expect(json.data).toEqual({ lab, text: "# Task 1\n\nSee <b>R1</b> <script>alert(1)</script>end " });
    expect((await admin.post("/api/v1/projects/tasks", { lab: "/nowhere" })).json.code).toBe("lab_not_found");
    const file = readUnl(eve.fake.labFile("/drawn.unl") ?? "");
    eve.fake.putLabFile("/drawn.unl", writeUnl({ ...file, body: "x".repeat(1_000_001) }));
    expect((await admin.post("/api/v1/projects/tasks", { lab })).json).toMatchObject({
      code: "host_error",
      error: expect.stringMatching(/1000001 characters, more than 1000000/),
    });
  });
});

test("hosts without pictures or tasks say so, and a picture that is too large is listed and not answered", async () => {
  await using served = await serve();
  const ann = await served.signIn("ann");
  await ann.post("/api/v1/projects/deploy", { yaml: "name: drawn\nnodes: {r1: {template: frr}}\n" });
  for (const [path, feature] of [
    ["pictures", "pictures"],
    ["tasks", "tasks"],
    ["snapshots", "snapshots"],
  ] as const) {
    const { status, json } = await ann.post(`/api/v1/projects/${path}`, { lab });
    expect([path, status, json.code, json.data]).toEqual([path, 422, "unsupported", { feature }]);
  }
  expect((await ann.get("/api/v1/projects/pictures/1?lab=%2Fdrawn")).json.code).toBe("unsupported");
  await using eve = await eveFixture({ edition: "ce5" });
  await using other = await serve({ host: eve.host });
  const admin = await other.signIn("admin", "eve");
  await drawn(admin, eve.fake);
  const large = { id: 1, name: "large", data: Buffer.alloc(8 * 1024 * 1024 + 1, 1).toString("base64") };
  eve.fake.putLabFile("/drawn.unl", writeUnl({ ...readUnl(eve.fake.labFile("/drawn.unl") ?? ""), pictures: [large] }));
  expect((await admin.post("/api/v1/projects/pictures", { lab })).json.data.pictures).toMatchObject([{ size_bytes: 8 * 1024 * 1024 + 1 }]);
  const refused = await admin.get("/api/v1/projects/pictures/1?lab=%2Fdrawn");
  expect([refused.status, refused.json.code]).toEqual([413, "payload_too_large"]);
});
