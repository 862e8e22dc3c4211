/**
 * A hostile cluster: an API server with hostile lists, and a real agent that connects it to Drover. The API server stores
 * the objects of the agent in memory, sends no watch events, and accepts all other changes.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

import { stage } from "./stage.ts";

/** A host to which no page may send a request. */
export const OUTSIDE = "outside.invalid";
const MARKUP = `<img src="https://${OUTSIDE}/x" onerror="alert(1)"><script src="https://${OUTSIDE}/y"></script>`;
const SEQUENCES = "\u001b]0;executed\u0007\u001b[31mred\u001b[2J";
/** The number of rows of a page. The list has no last page. */
const ROWS = 500;
/** The size of the annotation of one object in bytes. */
const LARGE = 5 << 20;
/** The objects of the import manifest that an agent outside of its cluster reads. */
const PLURALS: Readonly<Record<string, string>> = {
  ConfigMap: "configmaps",
  Secret: "secrets",
  ServiceAccount: "serviceaccounts",
};

interface Meta {
  name?: string;
  namespace?: string;
  resourceVersion?: string;
  uid?: string;
  annotations?: Record<string, string>;
}

interface KubernetesObject {
  kind?: string;
  metadata?: Meta;
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  items?: KubernetesObject[];
  [field: string]: unknown;
}

type Fields = Record<string, unknown>;

export class HostileCluster {
  private readonly objects = new Map<string, KubernetesObject>();
  private readonly server: Server;
  private readonly pages = new Pages();
  private agent: ChildProcess | undefined;
  private version = 0;
  /** The number of rows that the cluster has sent. */
  rows = 0;

  private constructor() {
    const [key, cert] = [readFileSync(stage.hostileKey), readFileSync(stage.hostileCertificate)];
    this.server = createServer({ key, cert }, (request, response) => void this.answer(request, response));
  }

  /** Starts the API server, and the agent with the objects of an import manifest in JSON. */
  static async start(manifest: readonly object[]): Promise<HostileCluster> {
    const cluster = new HostileCluster();
    for (const object of manifest) cluster.importObject(object as KubernetesObject);
    await new Promise<void>((resolve) => cluster.server.listen(0, "127.0.0.1", resolve));
    cluster.startAgent((cluster.server.address() as AddressInfo).port);
    return cluster;
  }

  /** Stops the agent and the API server. */
  async stop(): Promise<void> {
    const agent = this.agent;
    if (agent !== undefined && agent.exitCode === null && agent.signalCode === null) {
      const ended = new Promise((resolve) => agent.once("exit", resolve));
      agent.kill("SIGTERM");
      await ended;
    }
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private startAgent(port: number): void {
    const authority = readFileSync(stage.hostileCertificate).toString("base64");
    const kubeconfig = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "hostile", cluster: { server: `https://127.0.0.1:${port}`, "certificate-authority-data": authority } }],
      users: [{ name: "agent", user: { token: "of-the-agent" } }],
      contexts: [{ name: "hostile", context: { cluster: "hostile", user: "agent" } }],
      "current-context": "hostile",
    };
    const file = join(stage.folder, "hostile.kubeconfig");
    writeFileSync(file, JSON.stringify(kubeconfig));
    const program = join(stage.programs, "drover-agent");
    this.agent = spawn(program, ["--kubeconfig", file, "--replica", "hostile-agent", "--health-listen", "127.0.0.1:0", "--no-gitops"], {
      env: { HOME: stage.folder },
      stdio: "ignore",
    });
  }

  private importObject(object: KubernetesObject): void {
    const { name, namespace } = object.metadata ?? {};
    const plural = PLURALS[object.kind ?? ""];
    if (object.kind === "Namespace") this.put(`/api/v1/namespaces/${name}`, object);
    else if (plural !== undefined) this.put(`/api/v1/namespaces/${namespace}/${plural}/${name}`, object);
  }

  private put(path: string, object: KubernetesObject): KubernetesObject {
    const stamped = this.stamped(object);
    this.objects.set(path, stamped);
    return stamped;
  }

  /** Sets the fields that an API server sets. */
  private stamped({ stringData, ...object }: KubernetesObject): KubernetesObject {
    this.version += 1;
    const encoded = Object.entries(stringData ?? {}).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
    const data = stringData === undefined ? {} : { data: { ...object.data, ...Object.fromEntries(encoded) } };
    const metadata = { uid: `hostile-${this.version}`, ...object.metadata, resourceVersion: String(this.version) };
    return { ...object, ...data, metadata };
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { pathname, searchParams } = new URL(request.url ?? "/", "https://hostile");
    if (request.method === "GET") {
      const isTable = request.headers.accept?.includes("as=Table") ?? false;
      this.read(pathname, searchParams, isTable, response);
      return;
    }
    const type = request.headers["content-type"] ?? "";
    const [code, body] = this.write(request.method ?? "", pathname, type, parsed(Buffer.concat(chunks)));
    send(response, code, body);
  }

  private read(path: string, query: URLSearchParams, isTable: boolean, response: ServerResponse): void {
    const fixed = FIXED[path];
    const found = this.objects.get(path);
    if (path === "/livez" || path === "/readyz") response.end("ok");
    else if (fixed !== undefined) send(response, 200, fixed);
    else if (query.has("watch")) this.watch(query, response);
    else if (found !== undefined) send(response, 200, found);
    else if (isTable && path.endsWith("/configmaps")) return; // The response never arrives.
    else if (isTable && path === "/api/v1/pods") {
      this.rows += ROWS;
      sendText(response, 200, this.pages.page(Number(query.get("continue") ?? 0)));
    } else if (isTable) send(response, 200, { kind: "Table", metadata: { resourceVersion: "1" }, columnDefinitions: [], rows: [] });
    else if (isList(path)) send(response, 200, { kind: "List", apiVersion: "v1", metadata: { resourceVersion: "1" }, items: this.list(path) });
    else send(response, 404, status(404, "NotFound"));
  }

  private list(path: string): KubernetesObject[] {
    const inside = [...this.objects].filter(([item]) => item.slice(0, item.lastIndexOf("/")) === path);
    return inside.map(([, object]) => object);
  }

  private watch(query: URLSearchParams, response: ServerResponse): void {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    const end = setTimeout(() => response.end(), Number(query.get("timeoutSeconds") ?? 300) * 1000);
    response.once("close", () => clearTimeout(end));
  }

  private write(method: string, path: string, type: string, sent: KubernetesObject): [number, object] {
    const isApplied = type.startsWith("application/apply") || path.includes("/events");
    const old = this.objects.get(path);
    if (method === "DELETE") {
      this.objects.delete(path);
      return [200, { kind: "Status", apiVersion: "v1", status: "Success" }];
    }
    if (method === "POST" && path.endsWith("/token")) {
      return [201, { ...sent, status: { token: "of-a-lane", expirationTimestamp: "2100-01-01T00:00:00Z" } }];
    }
    if (method === "POST" && path.endsWith("accessreviews")) return [201, { ...sent, status: { allowed: true } }];
    if (isApplied) return [method === "POST" ? 201 : 200, this.stamped(sent)];
    if (method === "PUT") return [200, this.put(path, sent)];
    if (method === "PATCH") {
      return old === undefined ? [404, status(404, "NotFound")] : [200, this.put(path, merged(old, sent) as KubernetesObject)];
    }
    const created = `${path}/${sent.metadata?.name}`;
    if (this.objects.has(created)) return [409, status(409, "AlreadyExists")];
    return [201, this.put(created, sent)];
  }
}

/** The pages of the list of pods. All pages have equal rows, except for the number of the page in the names. */
class Pages {
  private readonly template: string;
  private readonly first: string;

  constructor() {
    const rows = (page: string): object[] => Array.from({ length: ROWS }, (_, row) => podRow(`${page}-${row}${MARKUP}`, {}));
    this.template = JSON.stringify(table(rows("@PAGE@"), "@NEXT@"));
    const large = podRow("0-large", { annotations: { large: "x".repeat(LARGE) } });
    this.first = JSON.stringify(table([large], "1"));
  }

  page(number: number): string {
    return number === 0 ? this.first : this.template.replaceAll("@PAGE@", String(number)).replace("@NEXT@", String(number + 1));
  }
}

function table(rows: object[], next: string): object {
  const wide = Array.from({ length: 7 }, (_, column) => ({ name: `Wide ${column}`, type: "string", priority: 1 }));
  const columns = ["Name", "Ready", "Status", "Restarts", "Age"].map((name) => ({ name, type: "string", priority: 0 }));
  const metadata = { resourceVersion: "1", continue: next, remainingItemCount: 1_000_000 };
  return { kind: "Table", apiVersion: "meta.k8s.io/v1", metadata, columnDefinitions: [...columns, ...wide], rows };
}

function podRow(name: string, metadata: object): object {
  const long = Array.from({ length: 7 }, () => "long ".repeat(400));
  const created = { creationTimestamp: "2026-01-01T00:00:00Z" };
  const object = { kind: "Pod", apiVersion: "v1", metadata: { name, namespace: "default", ...created, ...metadata }, spec: {}, status: {} };
  return { cells: [name, "1/1", `${SEQUENCES}${MARKUP}`, "0", "1d", ...long], object };
}

const served = (name: string, kind: string): object => ({ name, kind, singularName: "", namespaced: true, verbs: ["get", "list", "watch"] });
const FIXED: Readonly<Record<string, object>> = {
  "/version": { major: "1", minor: "36", gitVersion: "v1.36.0-hostile", gitCommit: "", gitTreeState: "", buildDate: "", goVersion: "", compiler: "", platform: "" },
  "/api": { kind: "APIVersions", versions: ["v1"] },
  "/apis": { kind: "APIGroupList", apiVersion: "v1", groups: [] },
  "/api/v1": { kind: "APIResourceList", groupVersion: "v1", resources: [served("pods", "Pod"), served("configmaps", "ConfigMap")] },
};

/** Reports whether a path names a collection. */
function isList(path: string): boolean {
  const [root, ...parts] = path.split("/").slice(1);
  const rest = parts.slice(root === "api" ? 1 : 2);
  return rest.length === 1 || (rest.length === 3 && rest[0] === "namespaces");
}

/** Applies a JSON merge patch. */
function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const result: Fields = typeof target === "object" && target !== null ? { ...(target as Fields) } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}

function parsed(body: Buffer): KubernetesObject {
  try {
    return JSON.parse(body.toString()) as KubernetesObject;
  } catch {
    return {};
  }
}

function status(code: number, reason: string): object {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", code, reason, message: reason };
}

function send(response: ServerResponse, code: number, body: object): void {
  sendText(response, code, JSON.stringify(body));
}

function sendText(response: ServerResponse, code: number, body: string): void {
  response.writeHead(code, { "content-type": "application/json" });
  response.end(body);
}
