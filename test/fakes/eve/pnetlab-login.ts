import type { Reply } from "./answer.ts";
import type { Call } from "./call.ts";
import { phpString } from "./php.ts";

/** Its shop's pages set the cookies that its login wants back. */
export function welcome({ host }: Call): Reply {
  const cookies = [`_session=${host.settings.uuid()}; path=/; httponly`, `XSRF-TOKEN=${encodeURIComponent(xsrf)}; path=/`];
  return {
    status: 200,
    headers: [...cookies.map((cookie) => ["Set-Cookie", cookie] as const), ["Content-Type", "text/html"]],
    body: "<html></html>",
  };
}
const xsrf = "a/token=";

/** The way to the login page; browsers are sent there from the root. */
export function toLogin(): Reply {
  return { status: 302, headers: [["Location", "/store/public/auth/login/manager"]], body: "" };
}

/** Its answers are of another kind than those of the API: 202 whatever happened. */
export function login(call: Call): Reply {
  const cookies = phpString(call.headers.cookie);
  if (call.headers["x-xsrf-token"] !== xsrf || !cookies.includes("_session=")) {
    return { status: 419, headers: [["Content-Type", "text/html"]], body: "<html><title>Page Expired</title></html>" };
  }
  const { username, password, captcha } = call.body;
  if (call.host.settings.captcha && captcha !== "right") return answer(false, "Captcha is Wrong");
  if (phpString(username) === "" || phpString(password) === "") return answer(false, "Username or Password empty");
  if (!call.host.users.all().some((user) => user.username === username)) return answer(false, "Username is not existed");
  const { cookie } = call.host.users.login({ ...call.body, html5: phpString(call.body.html) });
  return cookie === undefined ? answer(false, "Password is Wrong") : answer(true, "", [`token=${cookie}; path=/; Max-Age=3600`]);
}

function answer(result: boolean, text: string, cookies: readonly string[] = []): Reply {
  const body = result ? { result, message: "success", data: "" } : { result, message: "ERROR", data: { data: text } };
  const headers = cookies.map((cookie) => ["Set-Cookie", cookie] as const);
  return { status: 202, headers: [...headers, ["Content-Type", "application/json"]], body: JSON.stringify(body) };
}
