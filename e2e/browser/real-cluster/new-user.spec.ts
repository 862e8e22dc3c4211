/** Tests that run in order on one server and share one browser session. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";

import type { BrowserContext, Page } from "@playwright/test";

import { stage } from "../stage/stage.ts";
import { Terminal } from "../stage/terminal.ts";
import { BrowserErrors, chooseAction, chooseFromMenu, choosePassword, expect, signIn, test } from "../stage/test.ts";
import { kubectlShellTests } from "./kubectl-shell.ts";
import { makeControlPlane, nodeAgentTests } from "./node-agent.ts";
import { portForwardTests } from "./port-forwards.ts";
import { type Environment, providerUserTests } from "./provider-user.ts";
import { terminalTests } from "./terminals.ts";
import { transferTests } from "./transfers.ts";

const CLUSTER = "east";
const PASSWORD = "a long password of the new user";
/** Timeout for a cluster to start two agent pods without image pulls, and to connect. */
const CONNECT_TIMEOUT_MS = 90_000;
/** The minimum of the setting session-ttl. */
const MIN_SESSION_TTL = "60s";
const EXPIRY_TIMEOUT_MS = 90_000;
/** The message on the sign-in page after a session ended. */
const ENDED = "Your session has ended. Unsaved changes are lost. Sign in to return to this page.";

test.describe.configure({ mode: "serial" });
test.setTimeout(120_000);

/** The administrator's browser. */
let page: Page;
let context: BrowserContext;
/** Opens a browser context without a session. */
let newContext: () => Promise<BrowserContext>;
/** The browser of a user without roles, with a short session. */
let unprivilegedPage: Page;
const browserErrors = new BrowserErrors();
/** Terminals of the owner of the cluster and of the administrator of the server. */
let owner: Terminal;
let administrator: Terminal;

test.beforeAll(async ({ browser }) => {
  newContext = async () => {
    const opened = await browser.newContext({
      baseURL: stage.url,
      ignoreHTTPSErrors: true,
      permissions: ["clipboard-read", "clipboard-write"],
      reducedMotion: "reduce",
    });
    browserErrors.listen(opened);
    return opened;
  };
  context = await newContext();
  page = await context.newPage();
  unprivilegedPage = await (await newContext()).newPage();
  owner = new Terminal("owner", stage.kubeconfig);
  administrator = new Terminal("administrator");
});

test.afterAll(async () => {
  await context.close();
  await unprivilegedPage.context().close();
});

test.afterEach(() => {
  expect(browserErrors.all, "the browser reports no errors").toEqual([]);
});

/** Locates the state badge next to the name of the cluster. */
const state = (text: string) => page.locator(".page-head").getByText(text, { exact: true });

/** Returns a Deployment whose container writes one log line per second. */
function counter(namespace: string): object {
  const script = "n=0; while true; do n=$((n+1)); echo line $n; sleep 1; done";
  const container = { name: "counter", image: stage.image, imagePullPolicy: "Never", command: ["sh", "-c", script] };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "counter", namespace },
    spec: {
      selector: { matchLabels: { app: "counter" } },
      template: {
        metadata: { labels: { app: "counter" } },
        spec: { containers: [container], terminationGracePeriodSeconds: 0 },
      },
    },
  };
}

async function openCluster(): Promise<void> {
  await page.goto(`/clusters/${CLUSTER}`);
  await page.getByRole("heading", { name: CLUSTER, exact: true }).waitFor();
}

test("initial password allows only a password change", async () => {
  await page.goto("/import");
  await signIn(page, "admin", stage.password);
  await page.getByRole("heading", { name: "Choose a password" }).waitFor();
  await page.getByLabel("New password", { exact: true }).fill("too short");
  await expect(page.getByRole("button", { name: "Change password" })).toBeDisabled();
  await choosePassword(page, PASSWORD);
  // After the change the browser returns to the requested page.
  await page.getByRole("heading", { name: "Import cluster" }).waitFor();
  await page.getByRole("navigation", { name: "Main menu" }).getByRole("link", { name: "Clusters" }).click();
  await page.getByRole("heading", { name: "No clusters yet" }).waitFor();
});

test("new user has no permissions and a short session", async () => {
  await administrator.logIn("admin", PASSWORD);
  await administrator.createUser("mary", "the first password of mary");
  await administrator.run(`drover setting set session-ttl ${MIN_SESSION_TTL}`);
  await unprivilegedPage.goto("/clusters/east?tab=later");
  await signIn(unprivilegedPage, "mary", "the first password of mary");
  await choosePassword(unprivilegedPage, PASSWORD);
  await unprivilegedPage.getByRole("heading", { name: "Cluster east not found" }).waitFor();
  await administrator.run("drover setting set session-ttl ''");
  const denied = await unprivilegedPage.evaluate(async () => (await fetch("/v1/users")).status);
  expect(denied, "the server rejects the request, not only the page").toBe(403);
});

test("copied import command connects the cluster, and the page updates", async () => {
  await page.getByRole("link", { name: "Import cluster" }).click();
  await page.getByLabel("Name", { exact: true }).fill(CLUSTER);
  await page.getByLabel("Description").fill("first cluster");
  await page.getByLabel("Labels").fill("env=test");
  await page.getByRole("button", { name: "Create cluster and show command" }).click();
  await page.getByText("Waiting for the agent.", { exact: false }).waitFor();
  await page.getByRole("button", { name: "Copy: Command" }).click();
  await page.getByText("Copied.").waitFor();
  const line = await page.evaluate(() => navigator.clipboard.readText());
  await owner.run(line);
  await page.getByText("The cluster is connected.").waitFor({ timeout: CONNECT_TIMEOUT_MS });
  await page.getByRole("link", { name: "Open cluster" }).click();
  await page.getByText("1 of 1 ready").waitFor();
  await expect(page.getByText("env=test")).toBeVisible();
  await state("ready").waitFor();
});

test("created workload is shown with its pods and logs", async () => {
  await page.goto(`/clusters/${CLUSTER}/deployments`);
  await page.getByRole("link", { name: "drover-agent" }).waitFor();
  await owner.run("kubectl apply -f -", JSON.stringify(counter("default")));
  const row = page.getByRole("row", { name: /counter/ });
  await expect(row).toContainText("1/1", { timeout: 60_000 });
  await row.getByRole("link", { name: "counter" }).click();
  await page.getByRole("heading", { name: "counter", exact: true }).waitFor();
  await page.getByRole("tab", { name: "YAML" }).click();
  await expect(page.getByText("imagePullPolicy: Never")).toBeVisible();
  await page.getByRole("tab", { name: "Logs" }).click();
  const log = page.getByRole("log", { name: "Log" });
  await expect(log).toContainText("line 2");
  // The log continues automatically.
  const [last] = [...(await log.innerText()).matchAll(/line (\d+)/g)].slice(-1);
  await expect(log).toContainText(`line ${Number(last?.[1]) + 2}`);
});

terminalTests({
  cluster: CLUSTER,
  page: () => page,
  context: () => context,
  owner: () => owner,
  browserErrors,
});

portForwardTests({
  cluster: CLUSTER,
  page: () => page,
  context: () => context,
  owner: () => owner,
  browserErrors,
});

transferTests({
  cluster: CLUSTER,
  page: () => page,
  context: () => context,
  owner: () => owner,
  browserErrors,
  administrator: () => administrator,
  browser: async () => (await newContext()).newPage(),
});

kubectlShellTests({
  cluster: CLUSTER,
  owner: () => owner,
  administrator: () => administrator,
  browser: async () => (await newContext()).newPage(),
});

test("kubectl accesses the cluster with the downloaded kubeconfig", async () => {
  await openCluster();
  await page.getByRole("button", { name: "Kubeconfig" }).click();
  const dialog = page.getByRole("dialog", { name: "Kubeconfig" });
  await dialog.getByRole("combobox").selectOption("token");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    dialog.getByRole("button", { name: "Download" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(`${CLUSTER}.yaml`);
  const file = join(owner.home, "downloaded.yaml");
  await download.saveAs(file);
  expect(await readFile(file, "utf8")).toContain(`${stage.url}/k8s/clusters/`);
  const downloaded = owner.with(file);
  expect(await downloaded.run("kubectl get nodes --no-headers")).toMatch(/\bReady\b/);
  await downloaded.run("kubectl create namespace created-by-kubectl");
  expect(await owner.run("kubectl get namespace created-by-kubectl -o name")).toContain("created-by-kubectl");
});

test("page shows the disconnection and the reconnection of the agent without a reload", async () => {
  await openCluster();
  await state("ready").waitFor();
  await owner.run("kubectl -n drover-agent scale deployment/drover-agent --replicas=0");
  await state("agent not connected").waitFor({ timeout: 60_000 });
  await page.getByRole("link", { name: "All clusters", exact: true }).click();
  await expect(page.getByRole("row", { name: new RegExp(CLUSTER) })).toContainText("agent not connected");
  await page.goto(`/clusters/${CLUSTER}/pods`);
  await page.getByRole("heading", { name: `Cannot reach ${CLUSTER}: agent not connected` }).waitFor();
  await owner.run("kubectl -n drover-agent scale deployment/drover-agent --replicas=2");
  await page.getByRole("table", { name: "Pods" }).waitFor({ timeout: CONNECT_TIMEOUT_MS });
  await page.getByRole("link", { name: "All clusters", exact: true }).click();
  await expect(page.getByRole("row", { name: new RegExp(CLUSTER) })).toContainText("ready", { timeout: CONNECT_TIMEOUT_MS });
  // The node agent registers while the next tests run.
  await makeControlPlane(owner);
});

test("sign-out everywhere ends the session in a second browser", async ({ open }) => {
  const other = await open();
  await other.goto("/about");
  await signIn(other, "admin", PASSWORD);
  await other.getByRole("heading", { name: "About", exact: true }).waitFor();
  await page.goto("/about");
  await chooseFromMenu(page, "Sign out everywhere…");
  await page.getByRole("dialog").getByRole("button", { name: "Sign out everywhere" }).click();
  await page.getByText("You are signed out of all browsers and command lines.").waitFor();
  await other.getByText(ENDED).waitFor();
  await signIn(page, "admin", PASSWORD);
  await page.getByRole("heading", { name: "About", exact: true }).waitFor();
});

test("sign-in after an expired session returns to the page", async () => {
  await unprivilegedPage.getByText(ENDED).waitFor({ timeout: EXPIRY_TIMEOUT_MS });
  await signIn(unprivilegedPage, "mary", PASSWORD);
  await unprivilegedPage.getByRole("heading", { name: "Cluster east not found" }).waitFor();
  expect(unprivilegedPage.url()).toBe(`${stage.url}/clusters/east?tab=later`);
});

const environment: Environment = {
  cluster: CLUSTER,
  password: PASSWORD,
  browserErrors,
  page: () => page,
  administrator: () => administrator,
  owner: () => owner,
  browser: async () => (await newContext()).newPage(),
  counter,
};

providerUserTests(environment);
nodeAgentTests(environment);

test("deletion of a cluster removes all Drover objects from the cluster", async () => {
  await openCluster();
  await chooseAction(page, "Delete…");
  const dialog = page.getByRole("dialog", { name: "Delete cluster?" });
  const confirm = dialog.getByRole("button", { name: "Delete", exact: true });
  await dialog.getByRole("textbox").fill("eas");
  await expect(confirm).toBeDisabled();
  await dialog.getByRole("textbox").fill(CLUSTER);
  await confirm.click();
  await page.getByText(`Deleting ${CLUSTER}.`).waitFor();
  await page.getByRole("heading", { name: "No clusters yet" }).waitFor({ timeout: 60_000 });
  await owner.run("kubectl wait --for=delete namespace/drover-agent --timeout=90s");
  expect(await owner.run("kubectl get namespace created-by-kubectl -o name"), "other objects stay in the cluster").toContain("created-by-kubectl");
});
