import { describe, expect, test } from "vitest";
import { communityPort, consolePort } from "../power/console.ts";
import { eveLabPath } from "../read/lab-path.ts";
import { entriesOf, hostError, readAnswer } from "./answer.ts";
import { noSecrets } from "./repeated-secrets.ts";

const answer = (status: number, body: string) =>
  readAnswer({ status, headers: { date: "Fri, 20 Nov 2026 23:58:20 GMT" }, body: Buffer.from(body), secrets: noSecrets });

describe("what a host answers", () => {
  test("the number at the end of the message identifies the outcome", () => {
    expect(answer(200, '{"code":200,"status":"success","message":"Lab has been created (60019)."}')).toMatchObject({
      code: 60019,
      broken: false,
    });
    expect(answer(201, '{"code":201,"status":"success","message":"Max nodes reached ( 128 )","data":{"id":7}}').code).toBeUndefined();
    expect(answer(400, '{"code":400,"status":"fail","message":"20003"}').code).toBe(20003);
    expect(answer(200, '{"code":"200","status":"success","message":"Topology loaded","data":[]}')).toMatchObject({ status: 200, data: [] });
    expect(
      answer(201, '{"code":201,"result":{"id":1,"status":0},"status":"success","message":"Lab has been saved (60023)."}').data,
    ).toEqual({
      id: 1,
      status: 0,
    });
    expect(answer(200, '{"Router.png":"Router.png"}').data).toEqual({ "Router.png": "Router.png" });
    expect(answer(200, "{}").time).toBe(Date.UTC(2026, 10, 20, 23, 58, 20));
  });

  test("an error page is an unknown outcome, reported with its cause", () => {
    const page =
      "<html><head><title>Slim Application Error</title></head><body><div><strong>Message:</strong> 20001</div>" +
      "<div><strong>File:</strong> /opt/unetlab/html/includes/__lab.php</div></body></html>";
    expect(answer(500, page)).toMatchObject({
      broken: true,
      message: "20001 in __lab.php",
      words: "20001 in /opt/unetlab/html/includes/__lab.php",
    });
    const refusal = JSON.stringify({
      code: 400,
      status: "fail",
      message: "cannot stat '/opt/unetlab/tmp/0/a.cfg' of lab /ann/one (80001)",
    });
    expect(answer(400, refusal)).toMatchObject({ code: 80001, message: "cannot stat 'a.cfg' of lab /ann/one (80001)" });
    expect(answer(500, "")).toMatchObject({ broken: true, message: "HTTP 500 without an answer" });
    expect(hostError("delete network 9", answer(500, ""))).toMatchObject({ code: "host_error", data: { host: { status: 500 } } });
  });

  test("a page in place of JSON is named with what to check, and a message has a limit", () => {
    const page = hostError("list the labs", answer(200, "<html><head><title>Sign in to the proxy</title></head></html>"));
    expect(page.message).toMatch(/^list the labs: the answer was not JSON but a page "Sign in to the proxy": check .*--host-url/);
    expect(answer(200, "").message).toMatch(/^the answer was not JSON: check/);
    expect(answer(400, JSON.stringify({ status: "fail", message: `${"x".repeat(1_000_000)} (60023)` }))).toMatchObject({
      code: 60023,
      message: `${"x".repeat(999)}…`,
    });
  });

  test("maps come as lists, too", () => {
    expect(entriesOf([])).toEqual([]);
    expect(entriesOf(["a", "b"])).toEqual([
      ["0", "a"],
      ["1", "b"],
    ]);
    expect(entriesOf({ "3": "c" })).toEqual([["3", "c"]]);
  });

  test("a stale lock is reported with the remedy for an administrator", () => {
    const failure = hostError("node r1", answer(400, '{"code":400,"status":"fail","message":"Failed to lock the lab (60061)."}'));
    expect(failure.message).toContain("removes the file /opt/unetlab/labs/<lab>.unl.lock");
    expect(failure.data).toMatchObject({ retryable: true });
  });
});

test("console ports are read from native and packed URLs, and follow from user and node", () => {
  expect(consolePort("telnet://127.0.0.1:32773")).toBe(32773);
  expect(consolePort("telnet://[::1]:40000")).toBe(40000);
  expect(consolePort("/html5/#/client/MzI3NjkAYwBteXNxbA==?token=E66E")).toBe(32769);
  expect(consolePort("vnc://127.0.0.1:32773")).toBeUndefined();
  expect(consolePort("")).toBeUndefined();
  expect(communityPort(0, 5)).toBe(32773);
  expect(communityPort(2, 1)).toBe(33025);
});

test("a lab has a file, and names that EVE-NG breaks over are refused", () => {
  expect(eveLabPath("/Team A/lab-1")).toEqual({
    path: "/Team A/lab-1",
    folder: "/Team A",
    name: "lab-1",
    file: "/Team A/lab-1.unl",
    url: "/Team%20A/lab-1.unl",
  });
  expect(eveLabPath("/x").folder).toBe("/");
  for (const path of ["/a.b", "/", "/x/ü", "/a /b"])
    expect(() => eveLabPath(path)).toThrow(expect.objectContaining({ code: "bad_request" }));
});
