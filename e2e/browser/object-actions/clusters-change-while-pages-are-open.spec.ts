/**
 * Tests of pages that are open while a cluster changes. The cluster also sends markup and terminal sequences, which
 * the pages show as text.
 */

import type { Page } from "@playwright/test";

import { stage } from "../stage/stage.ts";
import { Terminal } from "../stage/terminal.ts";
import { expect, signIn, test } from "../stage/test.ts";

const CLUSTER = "east";
const NAMESPACE = "default";
/** The time within which the menu shows a new kind. */
const KIND_TIMEOUT_MS = 5_000;
/** The time within which the page of problems shows a new problem. */
const PROBLEM_TIMEOUT_MS = 10_000;
const POD_START_TIMEOUT_MS = 60_000;
/** A text that a browser executes if a page inserts the text as markup. */
const MARKUP = "<img src=x onerror=\"document.title='executed'\"><script>document.title='executed'</script>";
/** A text that changes the title, the color and the screen of a terminal. */
const SEQUENCES = "\u001b]0;executed\u0007\u001b[31mred\u001b[0m\u001b[2J";

test.describe.configure({ mode: "serial" });
test.setTimeout(120_000);

let owner: Terminal;

test.beforeAll(() => {
  owner = new Terminal("owner-of-open-pages", stage.kubeconfig);
});

async function open(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await signIn(page, "admin", stage.password);
  await page.getByRole("navigation").first().waitFor();
}

function definition(): object {
  const properties = { spec: { type: "object", properties: { note: { type: "string" }, size: { type: "integer" } } } };
  const columns = [
    { name: "Note", type: "string", jsonPath: ".spec.note" },
    { name: "Size", type: "integer", jsonPath: ".spec.size" },
  ];
  const version = {
    name: "v1",
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: "object", properties } },
    additionalPrinterColumns: columns,
  };
  const names = { plural: "widgets", singular: "widget", kind: "Widget" };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.shop.example" },
    spec: { group: "shop.example", scope: "Namespaced", names, versions: [version] },
  };
}

function pod(name: string, container: object): string {
  const spec = { containers: [{ name: "main", ...container }], terminationGracePeriodSeconds: 0 };
  return JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: NAMESPACE }, spec });
}

test("kind of a new definition appears within five seconds, with its columns", async ({ page }) => {
  await open(page, `/clusters/${CLUSTER}`);
  const menu = page.getByRole("navigation", { name: "Cluster" });
  await menu.getByText("Workloads").waitFor();
  await owner.run("kubectl apply -f -", JSON.stringify(definition()));
  await expect(menu.getByText("shop.example")).toBeAttached({ timeout: KIND_TIMEOUT_MS });

  await owner.run("kubectl wait crd/widgets.shop.example --for=condition=Established --timeout=30s");
  const spec = { note: MARKUP, size: 7 };
  const widget = { apiVersion: "shop.example/v1", kind: "Widget", metadata: { name: "first", namespace: NAMESPACE }, spec };
  await owner.run("kubectl apply -f -", JSON.stringify(widget));
  await page.goto(`/clusters/${CLUSTER}/widgets.shop.example`);
  await expect(page.getByRole("columnheader", { name: "Note" })).toBeVisible();
  await expect(page.getByRole("columnheader", { name: "Size" })).toBeVisible();
  const row = page.getByRole("row", { name: /first/ });
  await expect(row).toContainText("<img src=x onerror=");
  await row.getByRole("link", { name: "first" }).click();
  await page.getByRole("heading", { name: "first", exact: true }).waitFor();
  await page.getByRole("tab", { name: "YAML" }).click();
  await expect(page.getByText("<script>document.title='executed'</script>").first()).toBeVisible();
  expect(await page.title()).not.toContain("executed");
  await owner.run("kubectl delete crd widgets.shop.example");
});

test("pod with a missing image appears on the page of problems within ten seconds", async ({ page }) => {
  await open(page, "/problems");
  await page.getByRole("heading", { name: "Problems", exact: true }).waitFor();
  await owner.run("kubectl apply -f -", pod("without-image", { image: "registry.invalid/none:1", imagePullPolicy: "Never" }));
  await expect(page.getByRole("link", { name: "without-image" }).first()).toBeVisible({ timeout: PROBLEM_TIMEOUT_MS });
  await owner.run(`kubectl -n ${NAMESPACE} delete pod without-image --now`);
  await expect(page.getByRole("link", { name: "without-image" }).first()).toBeHidden();
});

test("endless log with markup and terminal sequences is shown as text, and other lists respond", async ({ page, open: another }) => {
  const script = 'while true; do printf "%s %s\\n" "$MARKUP" "$SEQUENCES"; done';
  const env = [
    { name: "MARKUP", value: MARKUP },
    { name: "SEQUENCES", value: SEQUENCES },
  ];
  const container = { image: stage.image, imagePullPolicy: "Never", command: ["sh", "-c", script], env };
  await owner.run("kubectl apply -f -", pod("endless", container));
  await owner.run(`kubectl -n ${NAMESPACE} wait pod/endless --for=condition=Ready --timeout=60s`);
  await open(page, `/clusters/${CLUSTER}/pods/${NAMESPACE}/endless?tab=logs`);
  const log = page.getByRole("log", { name: "Log" });
  await expect(log).toContainText("<img src=x onerror=", { timeout: POD_START_TIMEOUT_MS });
  expect(await page.title()).not.toContain("executed");
  const list = await another();
  await open(list, `/clusters/${CLUSTER}/pods`);
  await expect(list.getByRole("link", { name: "endless" })).toBeVisible();
  // The page of the log still handles clicks.
  await page.getByRole("tab", { name: "Overview" }).click();
  await expect(log).toBeHidden();
  await owner.run(`kubectl -n ${NAMESPACE} delete pod endless --now`);
});
