import { entriesOf, numberOf, readAnswer, recordOf } from "../api/answer.ts";
import type { EveCall, EveReply } from "../api/eve-call.ts";
import { eveAnswer, jsonOf } from "./pnetlab-answer.ts";
import { PnetlabLabs, Stop } from "./pnetlab-labs.ts";
import { pnetlabForm } from "./pnetlab-template.ts";

/**
 * Translates calls of EVE-NG's interface to PNETLab's: each becomes one or a few calls of PNETLab, and the answer has EVE-NG's form. A call without a
 * counterpart in PNETLab is answered as invalid (60027).
 */
export class PnetlabRoutes {
  readonly #send: (call: EveCall) => Promise<EveReply>;
  readonly #labs: PnetlabLabs;

  constructor(send: (call: EveCall) => Promise<EveReply>) {
    this.#send = send;
    this.#labs = new PnetlabLabs(send);
  }

  async send(call: EveCall): Promise<EveReply> {
    const { method = "GET" } = call;
    const path = decodeURIComponent(call.path);
    try {
      const [, file, rest = ""] = /^\/api\/labs(\/.+\.unl)(?:\/(.*))?$/.exec(path) ?? [];
      if (file !== undefined) return await this.#inLab(call, method, file, rest);
      const folder = /^\/api\/folders(\/.*)$/.exec(path)?.[1];
      if (folder !== undefined) return await this.#folder(call, method, folder);
      if (path === "/api/folders") return await this.#send({ ...call, path: "/api/folders/add" });
      const answer = await this.#send(call);
      if (/^\/api\/list\/templates\/./.test(path) && answer.status === 200) return pnetlabForm(answer);
      return path === "/api/auth/logout" ? eveAnswer(answer, answer.status, "User logged out (90019).") : answer;
    } catch (error) {
      if (error instanceof Stop) return error.answer;
      throw error;
    }
  }

  async #folder(call: EveCall, method: string, folder: string): Promise<EveReply> {
    const change = (action: string, body: object) =>
      this.#send({ ...call, method: "POST", path: `/api/folders/${action}`, body: { path: folder, ...body } });
    if (method === "PUT") return change("edit", { new_path: recordOf(call.body).path });
    if (method === "DELETE") return change("delete", {});
    return this.#send({ ...call, path: `/api/folders?path=${encodeURIComponent(folder)}` });
  }

  async #inLab(call: EveCall, method: string, file: string, rest: string): Promise<EveReply> {
    const [what = "", id, of = ""] = rest.split("/");
    const labs = this.#labs;
    const number = Number(id);
    const body = recordOf(call.body);
    const change = (path: string, data: object) =>
      labs.within(file, { ...call, method: "POST", path: `/api/labs/session/${path}`, body: data });
    switch (`${method} ${what}${id === undefined ? "" : "/N"}${of === "" ? "" : `/${of}`}`) {
      case "GET ":
        await labs.mustBe(file);
        return this.#send({ ...call, method: "POST", path: "/api/labs/get", body: { path: file } });
      case "PUT ":
        await labs.mustBe(file);
        return this.#send({ ...call, method: "POST", path: "/api/labs/edit", body: { path: file, data: body } });
      case "DELETE ":
        return labs.remove(file, call);
      case "GET topology":
        return eveAnswer(undefined, 200, "Topology loaded", await labs.topology(file));
      case "GET nodes":
        return eveAnswer(undefined, 200, "Successfully listed nodes (60026).", (await labs.topology(file)).nodes);
      case "GET networks":
        return eveAnswer(undefined, 200, "Successfully listed networks (60004).", (await labs.view(file)).networks);
      case "GET textobjects":
        return eveAnswer(undefined, 200, "Successfully listed textobjects (60062).", (await labs.view(file)).textObjects);
      case "GET textobjects/N": {
        const found = recordOf((await labs.view(file)).textObjects)[String(id)];
        return found === undefined ? eveAnswer(undefined, 404, "") : eveAnswer(undefined, 200, "", found);
      }
      case "GET nodes/N": {
        const found = recordOf((await labs.topology(file)).nodes)[String(id)];
        if (found === undefined) return noNode();
        return eveAnswer(undefined, 200, "Successfully listed node (60025).", found);
      }
      case "GET nodes/N/interfaces": {
        const node = recordOf(recordOf((await labs.view(file)).nodes)[String(id)]);
        if (node.id === undefined) return noNode();
        const data = { id: number, sort: node.type, ethernet: node.ethernets, serial: node.serials };
        return eveAnswer(undefined, 200, "Successfully listed node interfaces (60030).", data);
      }
      case "GET configs":
        return labs.within(file, { ...call, path: "/api/labs/session/configs" });
      case "GET configs/N":
        return labs.within(file, { ...call, path: `/api/labs/session/configs?id=${number}` });
      case "PUT configs/N":
        return change("configs/edit", { ...body, id: number });
      case "GET nodes/N/start":
        return change("nodes/start", { id: number });
      case "GET nodes/N/stop":
      case "GET nodes/N/wipe": {
        // Without a session of the lab, no node runs and none has a disk: there is nothing to do.
        if ((await labs.session(file)) === undefined) return eveAnswer(undefined, 200, of === "stop" ? "(80051)" : "(80053)");
        return change(`nodes/${of}`, { id: number });
      }
      case "POST nodes":
        return this.#addNode(file, call);
      case "PUT nodes/N":
        return change("nodes/edit", { ...body, id: number });
      case "DELETE nodes/N":
        return change("nodes/delete", { id: number });
      case "PUT nodes/N/interfaces":
        return saved(await change("interfaces/edit", { node_id: number, data: body }));
      case "POST networks":
        return change("networks/add", body);
      case "PUT networks/N":
        return change("networks/edit", { ...body, id: number });
      case "DELETE networks/N":
        return saved(await change("networks/delete", { id: number }));
      case "POST textobjects":
        return change("textobjects/add", body);
      case "PUT textobjects/N":
        return change("textobjects/edit", { ...body, id: number });
      case "DELETE textobjects/N":
        return change("textobjects/delete", { id: number });
      case "PUT quality": {
        let answer = eveAnswer(undefined, 201, "Lab has been saved (60023).");
        for (const side of ["source", "destination"]) {
          if (!/^\d+$/.test(String(body[side]))) continue;
          answer = await change("interfaces/setquality", qualityOf(body, side));
          if (answer.status >= 300) return answer;
        }
        return saved(answer);
      }
      default:
        return eveAnswer(undefined, 400, "Request not valid (60027).");
    }
  }

  /** The host does not return the node's id, but all nodes: the new node is the one that did not exist before. */
  async #addNode(file: string, call: EveCall): Promise<EveReply> {
    const path = "/api/labs/session/nodes";
    const before = await this.#labs.within(file, { path, read: true });
    if (before.status >= 300) return before;
    const answer = await this.#labs.within(file, { ...call, path: `${path}/add` });
    const json = jsonOf(answer);
    const known = new Set(entriesOf(jsonOf(before).data).map(([key]) => key));
    const made = entriesOf(recordOf(json.update).nodes).filter(([key]) => !known.has(key));
    const id = made.length === 1 ? numberOf(made[0]?.[0]) : undefined;
    if (readAnswer(answer).code !== 60023 || id === undefined) return answer;
    return eveAnswer(answer, 201, "Lab has been saved (60023).", { id });
  }
}

function noNode(): EveReply {
  return eveAnswer(undefined, 404, "Cannot find node in the selected lab (20024).");
}

/** Success messages that EVE-NG does not have. */
function saved(answer: EveReply): EveReply {
  const { status, word, code } = readAnswer(answer);
  return status < 300 && word === "success" && code === undefined ? eveAnswer(answer, 201, "Lab has been saved (60023).") : answer;
}

/** guess pnetlab-quality-units: ms, ms, percent, kbit/s, as its tc has them. One side of EVE-NG's body. An absent value is sent as absent: a zero would be shaped, too. */
function qualityOf(body: Readonly<Record<string, unknown>>, side: string): object {
  const value = (word: string) => (Number(body[`${side}_${word}`] ?? 0) === 0 ? "" : body[`${side}_${word}`]);
  const words = { delay: value("delay"), jitter: value("jitter"), bandwidth: value("bandwidth"), loss: value("loss") };
  return { node_id: Number(body[side]), interface_id: body[`${side}_interfaceId`], ...words };
}
