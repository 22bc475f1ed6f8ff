import { writeXml, type XmlElement } from "../../../src/formats/xml/xml.ts";
import { type Files, inFolder, nameOf, parentOf } from "./files.ts";
import type { Extra } from "./interface.ts";
import { needs, needsFirstMac } from "./lab-notices.ts";
import { all, body, knownOfNode, LabRefused, others, parseLab, tag, textOf, writeNetwork, writeNode } from "./lab-xml.ts";
import { Network, type NetworkHost } from "./network.ts";
import { isUuid, LabNode, type NodeHost } from "./node.ts";
import { type Body, htmlDecode, htmlSpecialChars, isset, phpInt, phpString } from "./php.ts";

/** The parts of its host that a lab uses. */
export interface LabHost extends NodeHost, NetworkHost {
  readonly files: Files;
  /** Professional keeps what Community drops. */
  readonly keepsExtras: boolean;
  /** PNETLab: configs are attributes of nodes, the lock is a password, hidden networks stay. */
  readonly pnetlab: boolean;
  /** Network icons came with 6. */
  readonly hasNetworkIcons: boolean;
  /** The sleep in the middle of a save. */
  readonly beforeWrite: () => Promise<void>;
}

export interface TextObject {
  readonly name: string | undefined;
  readonly type: string;
  readonly data: string;
}

/** A lab, read from its file for each call and written back as a whole: changes by others meanwhile are lost. */
export class Lab {
  readonly #host: LabHost;
  /** The path that it was read from. */
  readonly path: string;
  readonly tenant: number;
  #name: string;
  #id = "";
  #version: unknown;
  #scripttimeout: unknown;
  #lock: unknown;
  #author: string | undefined;
  #description: string | undefined;
  #body: string | undefined;
  readonly nodes = new Map<number, LabNode>();
  readonly networks = new Map<number, Network>();
  readonly textObjects = new Map<number, TextObject>();
  #pictures: readonly XmlElement[] = [];
  #extra: Extra = [];
  #extraElements: readonly XmlElement[] = [];

  private constructor(path: string, tenant: number, host: LabHost) {
    this.path = path;
    this.tenant = tenant;
    this.#host = host;
    this.#name = nameOf(path).replace(/\.unl$/, "");
  }

  /** Reads the lab, or makes and saves one where there is no file. Throws `LabRefused`. */
  static async open(path: string, tenant: number, host: LabHost): Promise<Lab> {
    if (!/^[A-Za-z0-9_\s-]+\.unl$/.test(nameOf(path))) throw new LabRefused("20001");
    if (!/^\/[/A-Za-z0-9_\s-]*$/.test(parentOf(path))) throw new LabRefused("20002");
    const lab = new Lab(path, tenant, host);
    const file = host.files.read(path);
    if (file === undefined) {
      lab.#id = host.uuid();
      lab.#scripttimeout = 600;
      lab.#lock = 0;
      await lab.save();
    } else if (lab.#read(file.text)) await lab.save();
    return lab;
  }

  get id(): string {
    return this.#id;
  }

  get name(): string {
    return this.#name;
  }

  get filename(): string {
    return nameOf(this.path);
  }

  get version(): unknown {
    return this.#version ?? 0;
  }

  get scripttimeout(): number {
    return phpInt(this.#scripttimeout);
  }

  get lock(): number {
    if (this.#host.pnetlab) return this.#extra.some(([name, value]) => name === "password" && value !== "") ? 1 : 0;
    return isset(this.#lock) ? phpInt(this.#lock) : 1;
  }

  get author(): string {
    return this.#author ?? "";
  }

  get description(): string {
    return this.#description ?? "";
  }

  get body(): string {
    return this.#body ?? "";
  }

  /** Whether the lab must be saved: it had no id. */
  #read(text: string): boolean {
    const root = parseLab(text);
    const attribute = (name: string) => root.attributes.find(([each]) => each === name)?.[1] ?? "";
    const id = attribute("id");
    this.#id = isUuid(id) ? id : this.#host.uuid();
    const texts = (name: string) => textOf(all(root, [name]).at(-1));
    if (texts("description") !== "") this.#description = htmlSpecialChars(texts("description"));
    if (texts("body") !== "") this.#body = htmlSpecialChars(texts("body"));
    if (attribute("author") !== "") this.#author = htmlSpecialChars(attribute("author"));
    if (attribute("version") !== "" && phpInt(attribute("version")) >= 0) this.#version = attribute("version");
    if (this.#host.keepsExtras) {
      this.#extra = others(root, ["name", "id", "version", "scripttimeout", "lock", "author"]);
      this.#extraElements = all(root, ["*"]).filter(({ name }) => !["description", "body", "topology", "objects"].includes(name));
    }
    for (const network of all(root, ["topology", "networks", "network"])) this.#readNetwork(network);
    const configs = new Map(all(root, ["objects", "configs", "config"]).map((each) => [body(each).id, textOf(each)]));
    for (const node of all(root, ["topology", "nodes", "node"])) this.#readNode(node, configs);
    const timeout = attribute("scripttimeout");
    if (timeout !== "") this.#scripttimeout = phpInt(timeout) >= 300 ? timeout : 300;
    const lock = attribute("lock");
    if (lock === "") this.#lock = 0;
    else if (phpInt(lock) < 2) this.#lock = lock;
    this.#pictures = all(root, ["objects", "pictures", "picture"]);
    for (const object of all(root, ["objects", "textobjects", "textobject"])) {
      needs(this.#host, object, ["id"]);
      const { id: number, name, type } = body(object);
      const data = textOf(all(object, ["data"]).at(-1));
      if (data === "" || !isset(type)) continue;
      this.textObjects.set(phpInt(number), { name: nameOfObject(name), type: phpString(type), data });
    }
    this.#count();
    return !isUuid(id);
  }

  #readNetwork(element: XmlElement): void {
    needs(this.#host, element, ["id"]);
    const p = body(element);
    try {
      const network = new Network(p, phpInt(p.id), this.#host);
      if (this.#host.keepsExtras) network.extra = others(element, ["id", "type", "name", "left", "top", "visibility", "icon"]);
      this.networks.set(phpInt(p.id), network);
    } catch (error) {
      // EVE-NG leaves out what it does not understand.
      if (!(error instanceof RangeError)) throw error;
    }
  }

  #readNode(element: XmlElement, configs: ReadonlyMap<unknown, string>): void {
    const p: Record<string, unknown> = { ...body(element) };
    for (const key of ["cpu", "cpulimit", "ethernet", "nvram", "ram", "serial", "id"]) if (isset(p[key])) p[key] = phpInt(p[key]);
    needs(this.#host, element, ["id", "template", "config"]);
    needsFirstMac(this.#host, element, this.#id);
    if (p.config === "Exported") p.config = "1";
    if (p.config === "None") p.config = "0";
    const config = configs.get(phpString(p.id)) ?? (this.#host.pnetlab ? phpString(p.config_data) : "");
    // A node without a startup config uses none, also if its attribute asks for one.
    if (config === "" && !this.#host.pnetlab) p.config = 0;
    let node: LabNode;
    try {
      node = new LabNode(p, phpInt(p.id), this.tenant, this.#id, this.#host);
    } catch (error) {
      if (error instanceof RangeError) throw new LabRefused(`invalid node template ${phpString(p.template)}`);
      throw error;
    }
    if (this.#host.keepsExtras) node.extra = others(element, this.#host.pnetlab ? [...knownOfNode, "config_data"] : knownOfNode);
    for (const slot of all(element, ["slot"])) {
      needs(this.#host, slot, ["id", "module"]);
      node.setSlot(phpInt(body(slot).id), phpString(body(slot).module));
    }
    for (const each of all(element, ["interface"])) {
      needs(this.#host, each, ["id", "type"]);
      const i = body(each);
      if (i.type !== "ethernet" && i.type !== "serial") continue;
      node.link(phpInt(i.id), i);
      const joined = node.ethernets.get(phpInt(i.id));
      if (joined !== undefined && this.#host.keepsExtras) joined.extra = others(each, ["id", "name", "type", "network_id"]);
    }
    if (config !== "") node.configData = Buffer.from(config, "base64").toString("utf8");
    this.nodes.set(node.id, node);
  }

  #count(): void {
    for (const [id, network] of this.networks) {
      const count = [...this.nodes.values()].flatMap((node) => [...node.ethernets.values()]).filter((each) => each.networkId === id).length;
      network.setCount(count, !this.#host.pnetlab);
    }
  }

  freeNodeId(): number {
    return lowestFree(this.nodes);
  }

  freeNetworkId(): number {
    return lowestFree(this.networks);
  }

  /** 0, or EVE-NG's number of what was wrong. */
  async addNode(p: Body): Promise<number> {
    const id = this.freeNodeId();
    try {
      this.nodes.set(id, new LabNode(p, id, this.tenant, this.#id, this.#host));
    } catch (error) {
      if (error instanceof RangeError) return 20022;
      throw error;
    }
    return this.save();
  }

  async addNetwork(p: Body): Promise<number> {
    const id = this.freeNetworkId();
    try {
      this.networks.set(id, new Network(p, id, this.#host));
    } catch (error) {
      if (error instanceof RangeError) return 20021;
      throw error;
    }
    return this.save();
  }

  async addTextObject(p: Body): Promise<{ readonly id: number; readonly status: number }> {
    if (!isset(p.data) || !isset(p.type) || !/^[a-z0-9]+$/.test(phpString(p.type))) return { id: -1, status: 20042 };
    const id = lowestFree(this.textObjects);
    this.textObjects.set(id, { name: nameOfObject(p.name), type: phpString(p.type), data: phpString(p.data) });
    await this.save();
    return { id, status: 0 };
  }

  editTextObject(id: number, p: Body): number {
    const object = this.textObjects.get(id);
    if (object === undefined) return 20043;
    if ((!isset(p.data) || p.data === "") && !isset(p.name)) return 20044;
    const data = isset(p.data) && p.data !== "" ? phpString(p.data) : object.data;
    this.textObjects.set(id, { ...object, data, name: isset(p.name) ? nameOfObject(p.name) : object.name });
    return 0;
  }

  /** Takes the other end of its serial links with it; EVE-NG does not think of ethernet. */
  async deleteNode(id: number): Promise<number> {
    for (const serial of this.nodes.get(id)?.serials.values() ?? []) {
      if (serial.remoteId !== 0) this.nodes.get(serial.remoteId)?.unlink(serial.remoteIf);
    }
    this.nodes.delete(id);
    return this.save();
  }

  async connectNode(id: number, p: Body): Promise<number> {
    const node = this.nodes.get(id);
    if (node === undefined) return 20032;
    for (const [key, value] of Object.entries(p)) {
      const rc = this.#connect(node, phpInt(key), phpString(value), value === "");
      if (rc !== 0) return rc;
    }
    return this.save();
  }

  #connect(node: LabNode, index: number, to: string, free: boolean): number {
    const freeOther = (of: LabNode | undefined, at: number) => {
      const serial = of?.serials.get(at);
      if (serial !== undefined && serial.remoteId !== 0) this.nodes.get(serial.remoteId)?.unlink(serial.remoteIf);
    };
    if (free) {
      freeOther(node, index);
      return node.unlink(index) ? 0 : 20035;
    }
    const serial = /^([^:]*):(.*)$/.exec(to);
    if (serial === null) {
      if (!this.networks.has(phpInt(to))) return 20033;
      return node.link(index, { network_id: to }) ? 0 : 20034;
    }
    const [remoteId, remoteIf] = [phpInt(serial[1]), phpInt(serial[2])];
    const remote = this.nodes.get(remoteId);
    freeOther(node, index);
    freeOther(remote, remoteIf);
    if (!node.link(index, { remote_id: remoteId, remote_if: remoteIf })) return 20034;
    return remote?.link(remoteIf, { remote_id: node.id, remote_if: index }) ? 0 : 20034;
  }

  async edit(p: Body): Promise<number> {
    let changed = false;
    if (isset(p.name) && /^[A-Za-z0-9_\s-]+$/.test(phpString(p.name))) {
      this.#name = phpString(p.name);
      changed = true;
    }
    const text = (key: string, set: (value: string | undefined) => void) => {
      if (!isset(p[key])) return;
      set(p[key] === "" ? undefined : htmlSpecialChars(phpString(p[key])));
      changed = true;
    };
    text("author", (value) => (this.#author = value));
    text("body", (value) => (this.#body = value));
    text("description", (value) => (this.#description = value));
    if (isset(p.version) && (p.version === "" || phpInt(p.version) >= 0)) {
      this.#version = p.version === "" ? undefined : phpInt(p.version);
      changed = true;
    }
    if (isset(p.scripttimeout)) {
      this.#scripttimeout = phpInt(p.scripttimeout);
      changed = true;
    }
    return changed ? this.save() : 20030;
  }

  setLock(lock: 0 | 1): Promise<number> {
    this.#lock = lock;
    return this.save();
  }

  /** PNETLab: an attribute of the lab that EVE-NG has not. */
  setExtra(name: string, value: string): Promise<number> {
    this.#extra = [...this.#extra.filter(([each]) => each !== name), [name, value]];
    return this.save();
  }

  renewId(): Promise<number> {
    this.#id = this.#host.uuid();
    return this.save();
  }

  /** Writes the file, under the lab's name. 0, or 20039 where another lab has that name. */
  async save(): Promise<number> {
    const text = this.#write();
    await this.#host.beforeWrite();
    const { files } = this.#host;
    const wanted = inFolder(parentOf(this.path), `${this.#name}.unl`);
    if (wanted !== this.path && files.read(wanted) !== undefined) return 20039;
    files.remove(this.path);
    files.write(wanted, text);
    return 0;
  }

  #write(): string {
    this.#count();
    const objects: XmlElement[] = [];
    if (this.textObjects.size > 0) {
      const each = [...this.textObjects].map(([id, { name, type, data }]) =>
        tag("textobject", { id, name: name ?? "", type }, [tag("data", {}, [data])]),
      );
      objects.push(tag("objects", {}, [tag("textobjects", {}, each)]));
    }
    if (this.#pictures.length > 0) objects.push(tag("objects", {}, [tag("pictures", {}, this.#pictures)]));
    const configs = [...this.nodes.values()]
      .filter(({ configData }) => configData !== "" && !this.#host.pnetlab)
      .map(({ id, configData }) => tag("config", { id }, [Buffer.from(configData).toString("base64")]));
    if (configs.length > 0) {
      // As EVE-NG does it: into the first objects there is.
      const first = objects.shift();
      objects.unshift(tag("objects", {}, [...(first?.children ?? []), tag("configs", {}, configs)]));
      if (first !== undefined) objects.push(tag("objects", {}));
    }
    const networks = [...this.networks.values()].filter((each) => this.#host.pnetlab || each.count > 0 || phpInt(each.visibility) !== 0);
    const topology = [
      ...(this.nodes.size === 0
        ? []
        : [
            tag(
              "nodes",
              {},
              [...this.nodes.values()].map((node) => writeNode(node, this.networks, this.nodes, this.#host.pnetlab)),
            ),
          ]),
      ...(this.networks.size === 0
        ? []
        : [
            tag(
              "networks",
              {},
              networks.map((network) => writeNetwork(network, this.#host.hasNetworkIcons)),
            ),
          ]),
    ];
    const attributes = {
      name: this.#name,
      id: this.#id,
      version: this.#version,
      scripttimeout: this.#scripttimeout,
      lock: this.#host.pnetlab ? undefined : this.#lock,
      author: this.#author,
    };
    return writeXml(
      tag(
        "lab",
        Object.fromEntries(Object.entries(attributes).filter(([, value]) => isset(value))),
        [
          ...(this.#description === undefined ? [] : [tag("description", {}, [htmlDecode(this.#description)])]),
          ...(this.#body === undefined ? [] : [tag("body", {}, [htmlDecode(this.#body)])]),
          ...(topology.length === 0 ? [] : [tag("topology", {}, topology)]),
          ...objects,
          ...this.#extraElements,
        ],
        this.#extra,
      ),
    );
  }
}

function lowestFree(used: ReadonlyMap<number, unknown>): number {
  let id = 1;
  while (used.has(id)) id++;
  return id;
}

function nameOfObject(name: unknown): string | undefined {
  return isset(name) && name !== "" ? phpString(name) : undefined;
}
