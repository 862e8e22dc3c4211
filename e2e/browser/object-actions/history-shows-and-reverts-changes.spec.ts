/** Tests of the history of an object: changes with kubectl and in the web UI, and a revert. */

import type { Locator } from "@playwright/test";

import { expectAccessibleInThemes } from "../stage/accessible.ts";
import { stage } from "../stage/stage.ts";
import { Terminal } from "../stage/terminal.ts";
import { expect, signIn, test } from "../stage/test.ts";

const CLUSTER = "east";
const NAMESPACE = "with-history";
const NAMESPACE_TIMEOUT_MS = 60_000;

test.setTimeout(120_000);

let owner: Terminal;

test.beforeAll(async () => {
  owner = new Terminal("owner-of-history", stage.kubeconfig);
  const administrator = new Terminal("administrator-of-history");
  await administrator.logIn("admin", stage.password);
  await administrator.run(`drover project create ${NAMESPACE} --cluster ${CLUSTER} --namespace ${NAMESPACE}`);
  await expect(() => kubectl(`get namespace ${NAMESPACE}`)).toPass({ timeout: NAMESPACE_TIMEOUT_MS });
  await kubectl("create configmap settings --from-literal=level=one");
});

function kubectl(line: string, input?: string): Promise<string> {
  return owner.run(`kubectl -n ${NAMESPACE} ${line}`, input);
}

test.use({ permissions: ["clipboard-read", "clipboard-write"] });

test("history names the authors of changes, and an earlier version is restored", async ({ page }) => {
  const version = (text: string): Locator => page.getByRole("list", { name: "Versions" }).locator("> li").filter({ hasText: text });
  await page.goto("/");
  await signIn(page, "admin", stage.password);
  await page.getByRole("heading", { name: "Clusters", exact: true }).waitFor();
  await page.goto(`/clusters/${CLUSTER}/configmaps/${NAMESPACE}/settings`);
  await page.getByRole("tab", { name: "History" }).click();
  await expect(version("First recorded version")).toContainText("Last changed by kubectl-create");

  // The cluster's owner uses no connection through Drover.
  await kubectl(`patch configmap settings --type merge --patch '{"data":{"level":"two"}}'`);
  await expect(version("data.level one → two")).toContainText("kubectl-patch");

  await page.getByRole("tab", { name: "YAML" }).click();
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  const editor = page.getByRole("textbox", { name: "Manifest of settings" });
  await editor.locator(".cm-line").filter({ hasText: "level: two" }).click();
  await page.keyboard.press("End");
  for (const _ of "two") await page.keyboard.press("Backspace");
  await page.keyboard.type("three");
  await page.getByRole("button", { name: "Review changes" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved settings.").waitFor();
  await page.getByRole("tab", { name: "History" }).click();
  await expect(version("data.level two → three")).toContainText("admin with drover-ui");

  await version("data.level two → three").getByRole("button", { name: "Show changes" }).click();
  await expect(version("data.level two → three").getByLabel("Changes", { exact: true })).toContainText("-   level: two");
  await expectAccessibleInThemes(page, "history");
  await version("First recorded version").getByRole("button", { name: "Revert to this version…" }).click();
  await expect(page.getByText("Review the changes before you save.")).toBeVisible();
  await page.getByRole("button", { name: "Review changes" }).click();
  const changes = page.getByLabel("Changes", { exact: true });
  await expect(changes).toContainText("-   level: three");
  await expect(changes).toContainText("+   level: one");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect.poll(() => kubectl("get configmap settings -o 'jsonpath={.data.level}'")).toBe("one");
  await expect(version("data.level three → one")).toContainText("admin with drover-ui");
});
