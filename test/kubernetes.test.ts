import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { operations } from "../src/contract/operations.ts";
import { serveOptions } from "../src/server/process/options.ts";

/** The manifests of packaging/kubernetes, against the types of Kubernetes' API (docs/decisions/kubernetes-types.md) and the options of the service. */

const root = join(import.meta.dirname, "..");
const text = readFileSync(join(root, "packaging/kubernetes/labwright-api.yaml"), "utf8");
const documents = parseAllDocuments(text).map((document) => {
  expect(document.errors).toEqual([]);
  return document.toJS() as Manifest;
});

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  // biome-ignore lint/suspicious/noExplicitAny: the compiler checks the manifests; the tests read single fields
  readonly spec: any;
}

/** Returns what the compiler reports of manifests as values of the types of Kubernetes. */
function problemsOf(manifests: readonly Manifest[]): string {
  const directory = mkdtempSync(join(tmpdir(), "labwright-kubernetes-"));
  try {
    symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
    const checked = manifests.map(
      (manifest, at) =>
        `import type { ${manifest.kind} as Kind${at} } from "kubernetes-types/${manifest.apiVersion.includes("/") ? manifest.apiVersion : `core/${manifest.apiVersion}`}";\n` +
        `export const manifest${at} = ${JSON.stringify(manifest, null, 2)} satisfies Kind${at};\n`,
    );
    const file = join(directory, "manifests.ts");
    writeFileSync(file, checked.join("\n"));
    const options = ["--noEmit", "--strict", "--ignoreConfig", "--module", "nodenext", "--types", ""];
    const { status, stdout, stderr, error } = spawnSync(join(root, "node_modules/.bin/tsc"), [...options, file], {
      cwd: directory,
      encoding: "utf8",
      timeout: 60_000,
    });
    if (error !== undefined) throw error;
    return status === 0 ? "" : `${stdout}${stderr}`;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const only = (kind: string, name: string): Manifest => {
  const found = documents.find((one) => one.kind === kind && one.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
};
const set = only("StatefulSet", "labwright-api");
const pod = set.spec.template.spec;
const [container] = pod.containers;

test("the manifests have the fields that Kubernetes knows, with values of their types", { timeout: 60_000 }, () => {
  expect(documents.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    "Service labwright",
    "Service labwright-members",
    "PodDisruptionBudget labwright-api",
    "StatefulSet labwright-api",
  ]);
  expect(problemsOf(documents)).toBe("");
  const wrong = structuredClone(set);
  wrong.spec.template.spec.containers[0].readinesProbe = {};
  expect(problemsOf([wrong])).toContain("readinesProbe");
  const typed = structuredClone(set);
  typed.spec.replicas = "2";
  expect(problemsOf([typed])).toContain("Type 'string' is not assignable to type 'number'");
});

test("the parts of the manifests name each other", () => {
  const labels = set.spec.template.metadata.labels;
  expect(set.spec.selector.matchLabels).toEqual(labels);
  expect(only("PodDisruptionBudget", "labwright-api").spec.selector.matchLabels).toEqual(labels);
  for (const name of ["labwright", "labwright-members"]) {
    const { selector, ports } = only("Service", name).spec;
    expect(selector).toEqual(labels);
    const named = container.ports.map((port: { name: string }) => port.name);
    for (const { targetPort } of ports) expect(named).toContain(targetPort);
  }
  const members = only("Service", set.spec.serviceName).spec;
  expect(members).toMatchObject({ clusterIP: "None", publishNotReadyAddresses: true });
  const volumes = [...pod.volumes, ...set.spec.volumeClaimTemplates.map((claim: Manifest) => claim.metadata)].map(({ name }) => name);
  for (const { name } of container.volumeMounts) expect(volumes).toContain(name);
});

test("the pods have no privilege, and are ready when the service answers", () => {
  expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  });
  for (const probe of ["readinessProbe", "livenessProbe", "startupProbe"])
    expect(container[probe].httpGet).toEqual({ path: operations.getHealth.path, port: "https", scheme: "HTTPS" });
});

test("the service accepts the variables of the pods: a machine without labs that the others reach by the pod's own name", () => {
  const given: Record<string, string> = {};
  for (const { name, value, valueFrom } of container.env) {
    const secret = { store: "postgres://labwright@db/labwright?sslmode=require", "store-password": "secret" }[
      valueFrom?.secretKeyRef?.key as string
    ];
    const field = { "metadata.name": "labwright-api-0", "metadata.namespace": "labs" }[valueFrom?.fieldRef?.fieldPath as string];
    const raw = (value ?? secret ?? field) as string | undefined;
    expect(raw, name).toBeDefined();
    // As Kubernetes: variables that come before.
    given[name] = (raw ?? "").replaceAll(/\$\((\w+)\)/g, (whole, other: string) => given[other] ?? whole);
  }
  expect(container.args).toEqual(["serve"]);
  const [https, member] = container.ports.map((port: { containerPort: number }) => port.containerPort);
  expect(serveOptions(container.args.slice(1), given, "/unused")).toMatchObject({
    host: "none",
    listen: "0.0.0.0",
    port: https,
    advertise: `https://labwright-api-0.labwright-members.labs.svc:${member}`,
    machineName: "labwright-api-0",
    joinTokenFile: "/etc/labwright/join/labwright-api-0",
  });
  const mounted = container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath);
  for (const name of ["LABWRIGHT_STATE_DIR", "LABWRIGHT_JOIN_TOKEN_FILE", "LABWRIGHT_CERT", "LABWRIGHT_KEY"])
    expect(mounted.some((path: string) => given[name]?.startsWith(path))).toBe(true);
});
