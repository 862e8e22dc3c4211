/**
 * Lists of several clusters, one of which is hostile: its list of pods has no end, its names contain markup and terminal
 * sequences, one object has 5 MiB, and its list of ConfigMaps never arrives.
 */

import { readFileSync } from "node:fs";

import type { Page } from "@playwright/test";

import { HostileCluster, OUTSIDE } from "../stage/hostile-cluster.ts";
import { stage } from "../stage/stage.ts";
import { Terminal } from "../stage/terminal.ts";
import { expect, signIn, test } from "../stage/test.ts";

const GOOD = "east";
const HOSTILE = "hostile";
const POD = "good-pod";
/** The time in which the rows of the other clusters appear. */
const FIRST_ROWS_MS = 10_000;
/** The time in which a filter applies while rows arrive. */
const FILTER_MS = 2_000;
/** The time in which a filter searches 192 MiB of rows. The programs of the tests are not optimized. */
const FULL_FILTER_MS = 15_000;
/** The time in which the rows of the hostile cluster reach the memory limit. */
const TRUNCATED_MS = 180_000;
const MAX_ROWS_IN_PAGE = 80;
/** The rows of one list may use 192 MiB. The rest is for responses of the cluster, and for fragmentation. */
const MAX_GROWTH_MIB = 512;

test.describe.configure({ mode: "serial" });
test.setTimeout(300_000);

let owner: Terminal;
let administrator: Terminal;
let cluster: HostileCluster | undefined;

test.beforeAll(async () => {
  owner = new Terminal("owner-beside-hostile", stage.kubeconfig);
  administrator = new Terminal("administrator-of-hostile");
  await administrator.logIn("admin", stage.password);
  const manifest = await administrator.run(`drover cluster import ${HOSTILE}`);
  // The command only converts the manifest.
  const json = await owner.run("kubectl create --dry-run=client --validate=false -o json -f -", manifest);
  const objects = json.split(/(?<=^\})\n(?=\{)/m).map((text) => JSON.parse(text) as { items?: object[] });
  cluster = await HostileCluster.start(objects.flatMap((object) => object.items ?? [object]));
  const spec = { containers: [{ name: "main", image: stage.image, command: ["sleep", "3600"], imagePullPolicy: "Never" }], terminationGracePeriodSeconds: 0 };
  await owner.run("kubectl apply -f -", JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: POD, namespace: "default" }, spec }));
  const isConnected = async () => (await administrator.run(`drover cluster get ${HOSTILE} --output json`)).includes('"APIServerReady"');
  await expect.poll(isConnected, { timeout: 60_000 }).toBe(true);
});

test.afterAll(async () => {
  await owner.run(`kubectl delete pod ${POD} --now --ignore-not-found`);
  try {
    await administrator.run(`drover cluster delete ${HOSTILE} --yes`);
  } finally {
    await cluster?.stop();
  }
});

/** Returns the resident memory of the server in MiB. */
function serverMemory(): number {
  const status = readFileSync(`/proc/${stage.serverProcess}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

const renderedRows = (page: Page) => page.locator("tr[data-row]");

test("endless list of one cluster does not delay the page, and is named as incomplete", async ({ page }) => {
  const outside: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes(OUTSIDE)) outside.push(request.url());
  });
  page.on("dialog", (dialog) => {
    outside.push(dialog.message());
    void dialog.dismiss();
  });
  const before = serverMemory();
  await page.goto("/");
  await signIn(page, "admin", stage.password);
  await page.getByRole("navigation").first().waitFor();
  await page.goto(`/objects/pods?q=cluster:${GOOD}`);
  await expect(page.getByRole("link", { name: POD, exact: true })).toBeVisible({ timeout: FIRST_ROWS_MS });
  const filter = page.getByRole("searchbox", { name: "Filter Pods" });
  await filter.fill("");
  await expect(page.getByText("<img src=").first()).toBeVisible({ timeout: 60_000 });
  expect(await renderedRows(page).count()).toBeLessThanOrEqual(MAX_ROWS_IN_PAGE);

  const rowsBefore = cluster?.rows ?? 0;
  for (const text of [POD, "large", POD]) {
    await filter.fill(text);
    await expect(renderedRows(page)).toHaveCount(1, { timeout: FILTER_MS });
  }
  await filter.fill("");
  await expect(page.getByText(new RegExp(`The list of ${HOSTILE} is incomplete`))).toBeVisible({ timeout: TRUNCATED_MS });
  expect(cluster?.rows, "rows arrived during the test").toBeGreaterThan(rowsBefore);
  await filter.fill(POD);
  await expect(renderedRows(page)).toHaveCount(1, { timeout: FULL_FILTER_MS });
  await filter.fill("");
  await renderedRows(page).getByRole("link").first().focus();
  await page.keyboard.press("G");
  const last = () => page.evaluate(() => Number(document.activeElement?.closest("tr")?.getAttribute("aria-rowindex")));
  await expect.poll(last, "the last row has the focus").toBeGreaterThan(rowsBefore);
  expect(await renderedRows(page).count()).toBeLessThanOrEqual(MAX_ROWS_IN_PAGE);
  expect(outside, "no markup of the cluster is interpreted").toEqual([]);
  expect(serverMemory() - before, "growth of the server in MiB").toBeLessThan(MAX_GROWTH_MIB);
});

test("list that never arrives is loading only for its own cluster", async ({ page }) => {
  await page.goto("/");
  await signIn(page, "admin", stage.password);
  await page.getByRole("navigation").first().waitFor();
  await page.goto("/objects/configmaps");
  await expect(page.getByRole("link", { name: "kube-root-ca.crt" }).first()).toBeVisible({ timeout: FIRST_ROWS_MS });
  await expect(page.getByRole("status").filter({ hasText: /^Loading: \d+/ })).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
});
