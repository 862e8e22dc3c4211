/**
 * Tests of the pages of objects: facts of their kinds, related objects, values of Secrets and field managers. A user
 * without permissions sees the names of the missing permissions.
 */

import type { BrowserContext, Page } from "@playwright/test";

import { expectAccessibleInThemes } from "../stage/accessible.ts";
import { stage } from "../stage/stage.ts";
import { Terminal } from "../stage/terminal.ts";
import { BrowserErrors, choosePassword, expect, signIn, test } from "../stage/test.ts";

const CLUSTER = "east";
const PROJECT = "pages";
const NAMESPACE = "pages";
const READER = "olga";
const PASSWORD = "a long password of the reader";
const VALUE = "the-value-of-the-secret";
const TIMEOUT_MS = 60_000;

test.describe.configure({ mode: "serial" });
test.setTimeout(120_000);

let context: BrowserContext;
let page: Page;
let owner: Terminal;
let administrator: Terminal;
const browserErrors = new BrowserErrors();

test.beforeAll(async ({ browser }) => {
  context = await browser.newContext({ baseURL: stage.url, ignoreHTTPSErrors: true, reducedMotion: "reduce" });
  browserErrors.listen(context);
  page = await context.newPage();
  owner = new Terminal("owner-of-pages", stage.kubeconfig);
  administrator = new Terminal("administrator-of-pages");
  await administrator.logIn("admin", stage.password);
  await administrator.run(`drover project create ${PROJECT} --cluster ${CLUSTER} --namespace ${NAMESPACE}`);
  await expect(() => kubectl(`get namespace ${NAMESPACE}`)).toPass({ timeout: TIMEOUT_MS });
  await kubectl("apply -f -", JSON.stringify({ apiVersion: "v1", kind: "List", items: objects() }));
  await page.goto("/");
  await signIn(page, "admin", stage.password);
  await page.getByRole("heading", { name: "Clusters", exact: true }).waitFor();
});

test.afterAll(async () => {
  await context.close();
});

test.afterEach(() => {
  expect(browserErrors.all, "the browser reports no errors").toEqual([]);
});

function kubectl(line: string, input?: string): Promise<string> {
  return owner.run(`kubectl -n ${NAMESPACE} ${line}`, input);
}

/** Returns a Service with a Deployment that uses a ConfigMap and a Secret, and an Ingress. */
function objects(): object[] {
  const metadata = (name: string): object => ({ name, namespace: NAMESPACE });
  const container = {
    name: "web",
    image: stage.image,
    imagePullPolicy: "Never",
    command: ["sleep", "100000"],
    env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "database", key: "password" } } }],
    volumeMounts: [{ name: "settings", mountPath: "/settings" }],
  };
  const template = {
    metadata: { labels: { app: "web" } },
    spec: {
      containers: [container],
      terminationGracePeriodSeconds: 0,
      volumes: [{ name: "settings", configMap: { name: "settings" } }],
    },
  };
  const backend = { service: { name: "web", port: { number: 80 } } };
  return [
    { apiVersion: "v1", kind: "ConfigMap", metadata: metadata("settings"), data: { "app.conf": "color = blue" } },
    { apiVersion: "v1", kind: "Secret", metadata: metadata("database"), stringData: { password: VALUE } },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: metadata("web"),
      spec: { replicas: 1, selector: { matchLabels: { app: "web" } }, template },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: metadata("web"),
      spec: { selector: { app: "web" }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
    },
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: metadata("web"),
      spec: { rules: [{ host: "web.example.com", http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }] },
    },
  ];
}

async function openObject(on: Page, path: string, name: string): Promise<void> {
  await on.goto(`/clusters/${CLUSTER}/${path}/${NAMESPACE}/${name}`);
  await on.getByRole("heading", { name, exact: true }).waitFor();
}

const related = (on: Page) => on.getByRole("region", { name: "Related objects" });

test("service shows its ports, its endpoints and its ingress", async () => {
  await openObject(page, "services", "web");
  const ports = page.getByRole("row").filter({ hasText: "http" }).first();
  await expect(ports).toContainText("80");
  await expect(ports).toContainText("8080");
  const endpoint = page.getByRole("row").filter({ has: page.getByRole("link", { name: /^web-/ }) });
  await expect(endpoint).toContainText("ready", { timeout: TIMEOUT_MS });
  const ingress = related(page).getByRole("row").filter({ hasText: "Ingress web" });
  await expect(ingress).toContainText("sends requests to this Service");
  await expectAccessibleInThemes(page, "service");
  await ingress.getByRole("link").click();
  await expect(page.getByRole("row").filter({ hasText: "web.example.com" })).toContainText("web:80");
});

test("config map shows its values and the pods that mount it", async () => {
  await openObject(page, "configmaps", "settings");
  await expect(page.getByRole("row").filter({ hasText: "app.conf" })).toContainText("color = blue");
  await expect(related(page).getByRole("row").filter({ hasText: "Deployment web" })).toContainText("mounts this object");
  const pod = related(page).getByRole("row").filter({ hasText: "Pod web-" });
  await expect(pod).toContainText("mounts this object");
  await pod.getByRole("link").click();
  const service = related(page).getByRole("row").filter({ hasText: "Service web" });
  await expect(service).toContainText("selects the pods");
  await expect(related(page).getByRole("row").filter({ hasText: "Secret database" })).toContainText("environment variables");
});

test("value of a secret is read only when it is revealed, and the audit log records the read", async () => {
  const path = `/namespaces/${NAMESPACE}/secrets/database`;
  const reads = async (): Promise<number> => {
    const records = await administrator.run(`drover audit --cluster ${CLUSTER} --user admin --verb get --path ${path} -o json`);
    return records.split("\n").filter((line) => line.includes(path)).length;
  };
  await page.clock.install();
  await openObject(page, "secrets", "database");
  const key = page.getByRole("row").filter({ hasText: "password" });
  await expect(key).toContainText(`${VALUE.length} bytes`);
  // `kubectl apply` stores the values in an annotation.
  expect(await page.content()).not.toContain(VALUE);
  expect(await page.content()).not.toContain(btoa(VALUE));
  expect(await reads()).toBe(0);
  await expectAccessibleInThemes(page, "secret");
  await key.getByRole("button", { name: "Reveal password" }).click();
  await expect(key).toContainText(VALUE);
  await expect.poll(reads, { timeout: TIMEOUT_MS }).toBeGreaterThan(0);
  await expectAccessibleInThemes(page, "revealed secret");
  expect(page.url()).not.toContain(VALUE);
  await page.clock.fastForward("01:01");
  await expect(key).not.toContainText(VALUE);
  await expect(key.getByRole("button", { name: "Reveal password" })).toBeVisible();
});

test("manifest of a secret has no values until they are revealed", async () => {
  await openObject(page, "secrets", "database");
  await page.getByRole("tab", { name: "YAML" }).click();
  const manifest = page.getByLabel("Manifest", { exact: true });
  await expect(manifest).toContainText("password: # hidden");
  expect(await page.content()).not.toContain(btoa(VALUE));
  expect(await page.content()).not.toContain(VALUE);
  await page.getByRole("button", { name: "Reveal values" }).click();
  await expect(manifest).toContainText(btoa(VALUE));
  await page.getByRole("button", { name: "Hide values" }).click();
  await expect(manifest).not.toContainText(btoa(VALUE));
  // A save of a manifest without values would remove the values of the Secret.
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await expect(page.getByRole("textbox", { name: "Manifest of database" })).toContainText(btoa(VALUE));
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(manifest).toContainText("password: # hidden");
});

test("manifest shows the manager of each field", async () => {
  await openObject(page, "deployments", "web");
  await page.getByRole("tab", { name: "YAML" }).click();
  await page.getByRole("checkbox", { name: "Show owners" }).check();
  const managers = page.getByRole("table", { name: "Field managers" });
  await expect(managers).toContainText("kubectl-client-side-apply");
  const line = page.locator(".text-row").filter({ hasText: "progressDeadlineSeconds" });
  await expect(line).toContainText("kubectl-client-side-apply");
  await expectAccessibleInThemes(page, "field managers");
});

test("charts of a workload show the usage that Prometheus measured", async () => {
  // Prometheus measures the kubelet every 5 s, and a rate needs two measurements.
  await expect(async () => {
    await page.goto(`/clusters/${CLUSTER}/deployments/${NAMESPACE}/web?tab=metrics`);
    await expect(page.getByText("Source: Prometheus monitoring/prometheus-operated")).toBeVisible({ timeout: 5_000 });
    await expect(page.getByRole("slider", { name: "CPU" })).toBeVisible({ timeout: 5_000 });
  }).toPass({ timeout: TIMEOUT_MS });
  const memory = page.getByRole("slider", { name: "Memory" });
  await expect(memory).toHaveAttribute("aria-valuetext", /^now [1-9][\d.]* (KiB|MiB), highest/);
  await memory.focus();
  await page.keyboard.press("End");
  await expect(memory).toHaveAttribute("aria-valuetext", /\d: [1-9][\d.]* (KiB|MiB)$/);
  await page.getByLabel("Period").selectOption("Last 7 days");
  await expect(page).toHaveURL(/tab=metrics&range=7d$/);
  await expectAccessibleInThemes(page, "charts");
});

test("user without permissions sees their names on the pages of objects", async ({ open }) => {
  await administrator.createUser(READER, "the first password of olga");
  await administrator.run(`drover access grant --project ${PROJECT} --user ${READER} read-only`);
  const reader = await open();
  await reader.goto(`/clusters/${CLUSTER}/configmaps/${NAMESPACE}/settings`);
  await signIn(reader, READER, "the first password of olga");
  await choosePassword(reader, PASSWORD);
  await expect(reader.getByRole("heading", { name: "Choose a password" })).toBeHidden();
  // The role reaches the cluster within seconds.
  await expect(async () => {
    await openObject(reader, "configmaps", "settings");
    await expect(reader.getByRole("row").filter({ hasText: "app.conf" })).toBeVisible({ timeout: 5_000 });
  }).toPass({ timeout: TIMEOUT_MS });
  await expect(related(reader).getByRole("row").filter({ hasText: "Deployment web" })).toContainText("mounts this object");
  await reader.goto(`/clusters/${CLUSTER}/deployments/${NAMESPACE}/web?tab=metrics`);
  await expect(reader.getByText("requires the permission to list services in all namespaces")).toBeVisible();
  await reader.goto(`/clusters/${CLUSTER}/secrets/${NAMESPACE}/database`);
  await expect(reader.getByRole("heading", { name: "No permission to read Secrets" })).toBeVisible();
  // A role with the permission to list Secrets only.
  const rules = [{ apiGroups: [""], resources: ["secrets"], verbs: ["list", "watch"] }];
  await kubectl("apply -f -", JSON.stringify({ apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name: "lists-secrets", namespace: NAMESPACE }, rules }));
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "lists-secrets" };
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:authenticated" }];
  await kubectl("apply -f -", JSON.stringify({ apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata: { name: "lists-secrets", namespace: NAMESPACE }, roleRef, subjects }));
  await openObject(reader, "secrets", "database");
  const reveal = reader.getByRole("button", { name: /^Reveal password/ });
  await expect(reveal).toHaveAttribute("title", new RegExp(`get secrets in namespace ${NAMESPACE}`));
  await expect(reveal).toBeDisabled();
  expect(await reader.content()).not.toContain(VALUE);
  await expectAccessibleInThemes(reader, "secret without permission");
  // The role does not list bindings.
  await openObject(reader, "serviceaccounts", "default");
  await expect(related(reader)).toContainText("missing permission to list clusterrolebindings in all namespaces");
});
