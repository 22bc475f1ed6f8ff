import { phpJson } from "./php.ts";

/** A handler's answer: the envelope's members, in the order in which they are sent. */
export interface Envelope {
  /** The same number as the HTTP status. The answer with the topology has it as a string. */
  readonly code: number | string;
  readonly [member: string]: unknown;
}

export interface Reply {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | Buffer;
  /** PHP itself died: an answer of HTTP/1.0 without anything that PHP would have set. */
  readonly fatal?: boolean;
}

/** A line as EVE-NG has them in messages_en.php. */
export function say(code: number): string {
  const text = messages[code];
  if (text === undefined) throw new Error(`no message ${code}`);
  return code === 20046 ? text : `${text} (${code}).`;
}

export function success(code: number, message: number, more: object = {}): Envelope {
  return { code, status: "success", message: say(message), ...more };
}

export function fail(code: number, message: number): Envelope {
  return { code, status: "fail", message: say(message) };
}

const phpHeaders: Reply["headers"] = [
  ["X-Powered-By", "Unified Networking Lab API"],
  ["Cache-Control", "post-check=0, pre-check=0"],
  ["Pragma", "no-cache"],
];

export function jsonReply(envelope: object, status: number, cookie?: string): Reply {
  const cookies: Reply["headers"] = cookie === undefined ? [] : [["Set-Cookie", cookie]];
  return { status, headers: [...phpHeaders, ...cookies, ["Content-Type", "application/json"]], body: phpJson(envelope) };
}

/** Slim's page for an uncaught exception. */
export class SlimError extends Error {
  readonly type: string;
  readonly phpCode: number | undefined;
  readonly file: string;
  readonly line: number;
  /** Innermost first; those of Slim itself are added. */
  readonly frames: readonly string[];

  constructor(
    message: string,
    at: {
      readonly type?: string;
      readonly phpCode?: number;
      readonly file: string;
      readonly line: number;
      readonly frames: readonly string[];
    },
  ) {
    super(message);
    this.type = at.type ?? "ErrorException";
    this.phpCode = at.phpCode ?? (at.type === undefined ? 2 : undefined);
    this.file = at.file;
    this.line = at.line;
    this.frames = at.frames;
  }

  reply(): Reply {
    const code = this.phpCode === undefined ? "" : `<div><strong>Code:</strong> ${this.phpCode}</div>`;
    const trace = [...this.frames, ...slimFrames].map((frame, index) => `<div>#${index} ${frame}</div>`);
    const body =
      `<html><head><title>Slim Application Error</title><style>${style}</style></head><body><h1>Slim Application Error</h1>` +
      "<p>The application could not run because of the following error:</p><h2>Details</h2>" +
      `<div><strong>Type:</strong> ${this.type}</div>${code}<div><strong>Message:</strong> ${this.message}</div>` +
      `<div><strong>File:</strong> ${html}${this.file}</div><div><strong>Line:</strong> ${this.line}</div>` +
      `<h2>Trace</h2><pre>${trace.join("")}<div>#${trace.length} {main}</pre></body></html>`;
    return { status: 500, headers: [...phpHeaders, ["Content-Type", "text/html;charset=UTF-8"]], body };
  }
}

/** The directory of EVE-NG's code on its host. */
export const html = "/opt/unetlab/html/";

/** PHP died: none of its answer is sent. */
export class FatalError extends Error {
  reply(): Reply {
    return { status: 500, headers: [["Content-Type", "text/html; charset=UTF-8"]], body: "", fatal: true };
  }
}

const style =
  "body{margin:0;padding:30px;font:12px/1.5 Helvetica,Arial,Verdana,sans-serif;}h1{margin:0;font-size:48px;font-weight:normal;" +
  "line-height:48px;}strong{display:inline-block;width:65px;}";

const slimFrames = [
  "[internal function]: {closure}()",
  `${html}includes/Slim/Route.php(468): call_user_func_array()`,
  `${html}includes/Slim/Slim.php(1357): Slim\\Route->dispatch()`,
  `${html}includes/Slim/Middleware/Flash.php(85): Slim\\Slim->call()`,
  `${html}includes/Slim/Middleware/MethodOverride.php(92): Slim\\Middleware\\Flash->call()`,
  `${html}includes/Slim/Middleware/PrettyExceptions.php(67): Slim\\Middleware\\MethodOverride->call()`,
  `${html}includes/Slim/Slim.php(1302): Slim\\Middleware\\PrettyExceptions->call()`,
  `${html}api.php(1348): Slim\\Slim->run()`,
];

const messages: Readonly<Record<number, string>> = {
  8: "Flag -D is not valid",
  10: "Interface is set but network does not exist",
  11: "Failed to create network",
  12: "Failed to start node",
  13: "Unable to wipe node(s)",
  14: "Cannot create username",
  15: "Cannot remove UUID from exported labs",
  16: "Failed to export config",
  19: "Export not supported",
  20001: "Cannot load lab, invalid filename",
  20002: "Cannot load lab, invalid folder",
  20003: "Cannot load lab, invalid XML document",
  20021: "Cannot add network to the lab",
  20022: "Cannot add node to the lab",
  20023: "Cannot find network in the selected lab",
  20024: "Cannot find node in the selected lab",
  20025: "Cannot edit network in the selected lab",
  20026: "Cannot edit node in the selected lab",
  20030: "Lab has not been modified",
  20032: "Cannot link node, invalid node_id",
  20033: "Cannot link node, invalid network_id",
  20034: "Cannot link node",
  20035: "Cannot unlink node",
  20039: "Lab already exists",
  20042: "Cannot add object to the lab",
  20043: "Cannot find object in the selected lab",
  20044: "Cannot edit object in the selected lab",
  20046: "Max nodes reached ( 128 )",
  60000: "Lab does not exist",
  60001: "Fetched system status",
  60002: "Successfully listed network types",
  60003: "Successfully listed node templates",
  60004: "Successfully listed networks",
  60005: "Successfully listed network",
  60006: "Network has been added to the lab",
  60007: "Successfully listed path",
  60008: "Requested folder does not exist",
  60009: "Requested folder is not valid",
  60010: "Cannot delete root folder",
  60012: "Folder has been deleted",
  60013: "Folder already exists",
  60014: "Folder has been created",
  60015: "Failed to create folder",
  60016: "Lab already exists",
  60017: "Cannot create lab, invalid or missing mandatory parameters",
  60018: "Cannot create lab, parent folder does not exist",
  60019: "Lab has been created",
  60020: "Lab has been loaded",
  60022: "Lab has been deleted",
  60023: "Lab has been saved",
  60024: "Fetced all lab networks and serial endpoints",
  60025: "Successfully listed node",
  60026: "Successfully listed nodes",
  60027: "Request not valid",
  60028: "Successfully listed pictures",
  60030: "Successfully listed node interfaces",
  60031: "Template does not exists or is not available",
  60032: "Successfully listed node template",
  60035: "Lab moved",
  60036: "Lab cloned",
  60038: "Resource not found",
  60039: "User not found",
  60040: "Successfully listed users",
  60041: "Successfully listed user roles",
  60046: "Destination folder already exists",
  60047: "Destination folder is not valid",
  60049: "Folder moved",
  60051: "All nodes has been stopped",
  60053: "Lab has been closed",
  60054: "Got lab body",
  60055: "Successfully listed startup-configs",
  60057: "Got startup-config",
  60058: "Startup config not available",
  60061: "Failed to lock the lab",
  60062: "Successfully listed textobjects",
  60071: "No nodes running",
  80048: "Nodes started",
  80049: "Node started",
  80050: "Nodes stopped",
  80051: "Node stopped",
  80052: "Nodes cleared",
  80053: "Node cleared",
  80057: "Nodes exported",
  80058: "Node exported",
  80073: "Cannot ZIP file",
  80074: "Cannot ZIP folder",
  80075: "Export is ready",
  80076: "Import path is not set",
  80077: "Import path is not valid",
  80078: "Import file must be a Zip file",
  80079: "Cannot import UNeTLab file",
  80080: "UNetLab file imported",
  80081: "Failed to upload file, check file size",
  90001: "User is not authenticated or session timed out",
  90002: "User has been loaded",
  90011: "Username not set",
  90012: "Password not set",
  90013: "User logged in",
  90014: 'Authentication failed: invalid username/password. Default username is "admin" with password "unl"',
  90018: "Authentication failed: user has been expired",
  90019: "User logged out",
};
