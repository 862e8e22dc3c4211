/** Tests of the actions on several objects of a list. Each test checks the objects in the cluster. */

import type { Locator, Page } from "@playwright/test";

import { expectAccessible, expectAccessibleInThemes } from "../stage/accessible.ts";
import { stage } from "../stage/stage.ts";
import { Terminal } from "../stage/terminal.ts";
import { choosePassword, expect, signIn, test } from "../stage/test.ts";

const CLUSTER = "east";
const USER = "mika";
const FIRST_PASSWORD = "the first password of mika";
const PASSWORD = "a long password of mika";
/** The user can change objects in the first namespace, and only reads the second namespace. */
const [OWN, FOREIGN] = ["own-shop", "foreign-shop"];
/** Timeout for the creation of a namespace and for new roles. */
const ROLE_TIMEOUT_MS = 60_000;

test.describe.configure({ mode: "serial" });
test.setTimeout(180_000);

let owner: Terminal;
let administrator: Terminal;

test.beforeAll(async () => {
  owner = new Terminal("owner-of-shops", stage.kubeconfig);
  administrator = new Terminal("administrator-of-shops");
  await administrator.logIn("admin", stage.password);
  for (const name of [OWN, FOREIGN]) {
    await administrator.run(`drover project create ${name} --cluster ${CLUSTER} --namespace ${name}`);
    await expect(() => owner.run(`kubectl get namespace ${name}`)).toPass({ timeout: ROLE_TIMEOUT_MS });
  }
  await administrator.createUser(USER, FIRST_PASSWORD);
  await administrator.run(`drover access grant --project ${OWN} --user ${USER} project-member`);
  await administrator.run(`drover access grant --project ${FOREIGN} --user ${USER} read-only`);
});

const rowBox = (page: Page, name: string): Locator => page.getByRole("checkbox", { name: `Select ${name}`, exact: true });
const dialog = (page: Page): Locator => page.getByRole("dialog");

/** Opens a list of the cluster when it contains the text. */
async function openList(page: Page, plural: string, text: string): Promise<void> {
  await expect(async () => {
    await page.goto(`/clusters/${CLUSTER}/${plural}`);
    await expect(page.getByRole("row", { name: new RegExp(text) })).toBeVisible({ timeout: 5_000 });
  }).toPass({ timeout: ROLE_TIMEOUT_MS });
}

async function signInAsUser(page: Page, password: string): Promise<void> {
  await page.goto("/");
  await signIn(page, USER, password);
  if (password === FIRST_PASSWORD) await choosePassword(page, PASSWORD);
  await page.getByRole("heading", { name: "Clusters", exact: true }).waitFor();
}

function names(namespace: string, plural: string): Promise<string> {
  return owner.run(`kubectl -n ${namespace} get ${plural} -l bulk=yes -o name`);
}

test("deletion of objects in two namespaces names the missing permission, and succeeds after a retry", async ({ page }) => {
  for (const [namespace, name] of [[OWN, "one"], [OWN, "two"], [FOREIGN, "three"]]) {
    await owner.run(`kubectl -n ${namespace} create configmap ${name} && kubectl -n ${namespace} label configmap ${name} bulk=yes`);
  }
  await signInAsUser(page, FIRST_PASSWORD);
  await openList(page, "configmaps", "three");
  await page.getByRole("searchbox", { name: "Filter ConfigMaps" }).fill("bulk=yes");
  await expect(page.getByRole("checkbox", { name: /^Select (one|two|three)$/ })).toHaveCount(3);
  await rowBox(page, "one").check();
  await page.getByRole("button", { name: "Select all 3 matches" }).click();
  await expect(page.getByText("3 selected")).toBeVisible();
  await page.getByRole("button", { name: "Delete…" }).click();

  const plan = dialog(page).getByRole("region", { name: "Planned requests" });
  const row = (name: string): Locator => plan.getByRole("row", { name: new RegExp(` / ${name} `) });
  await expect(row("one")).toContainText(`DELETE /k8s/clusters/${CLUSTER}/api/v1/namespaces/${OWN}/configmaps/one`);
  await expect(row("three")).toContainText(`Requires the permission: delete configmaps in namespace ${FOREIGN}`);
  await expect(dialog(page).getByText("2 of 3 objects will change.")).toBeVisible();
  await expectAccessibleInThemes(page, "plan of a deletion");
  await dialog(page).getByRole("button", { name: "Delete (2)" }).click();
  await expect(dialog(page).getByText("2 of 3 done, 1 failed")).toBeVisible();
  await expect(row("two")).toContainText("done");
  await expect(row("three")).toContainText("failed");
  expect(await names(OWN, "configmaps")).toBe("");
  expect(await names(FOREIGN, "configmaps")).toBe("configmap/three\n");
  await expectAccessible(page, "result of a deletion");

  await administrator.run(`drover access grant --project ${FOREIGN} --user ${USER} project-member`);
  await expect(async () => {
    await dialog(page).getByRole("button", { name: "Retry remaining actions" }).click({ timeout: 2_000 });
    await expect(dialog(page)).toBeHidden({ timeout: 5_000 });
  }).toPass({ timeout: ROLE_TIMEOUT_MS });
  expect(await names(FOREIGN, "configmaps")).toBe("");
  const records = await administrator.run(`drover audit --cluster ${CLUSTER} --verb delete -o json`);
  for (const name of ["one", "two", "three"]) expect(records).toContain(`configmaps/${name}`);
});

test("workloads are scaled together, and the undo restores each number of replicas", async ({ page }) => {
  for (const [name, replicas] of [["small", 0], ["large", 2]]) {
    await owner.run(
      `kubectl -n ${OWN} create deployment ${name} --image registry.invalid/none:1 --replicas ${replicas} && kubectl -n ${OWN} label deployment ${name} bulk=yes`,
    );
  }
  const replicas = (): Promise<string> =>
    owner.run(`kubectl -n ${OWN} get deployments large small -o 'jsonpath={.items[*].spec.replicas}'`);
  await signInAsUser(page, PASSWORD);
  await openList(page, "deployments", "large");
  await rowBox(page, "large").check();
  await rowBox(page, "small").click({ modifiers: ["Shift"] });
  await expect(page.getByText("2 selected")).toBeVisible();
  await page.getByRole("button", { name: "Scale…" }).click();
  await dialog(page).getByLabel("Replicas").fill("2");
  await expect(dialog(page).getByText("1 of 2 objects will change.")).toBeVisible();
  await dialog(page).getByLabel("Replicas").fill("1");
  await dialog(page).getByRole("button", { name: "Scale (2)" }).click();
  await page.getByText("Scale: 2 objects done.").waitFor();
  await expect(page.getByText("2 selected")).toBeHidden();
  expect(await replicas()).toBe("1 1");
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Restored the previous state of 2 objects.").waitFor();
  expect(await replicas()).toBe("2 0");
});

test("workload that was created again after the plan is not changed", async ({ page }) => {
  const create = (): Promise<string> =>
    owner.run(
      `kubectl -n ${OWN} create deployment again --image registry.invalid/none:1 --replicas 0 && kubectl -n ${OWN} label deployment again bulk=yes`,
    );
  await create();
  await signInAsUser(page, PASSWORD);
  for (const [action, submit] of [["Scale…", "Scale (1)"], ["Restart…", "Restart (1)"]] as const) {
    await openList(page, "deployments", "again");
    await rowBox(page, "again").check();
    await page.getByRole("button", { name: action }).click();
    if (action === "Scale…") await dialog(page).getByLabel("Replicas").fill("1");
    const button = dialog(page).getByRole("button", { name: submit });
    await expect(button).toBeEnabled();
    await owner.run(`kubectl -n ${OWN} delete deployment again`);
    await create();
    await button.click();
    await expect(dialog(page).getByText("The object was deleted and created again.")).toBeVisible();
    const fields = "{.spec.replicas}{.spec.template.metadata.annotations}";
    expect(await owner.run(`kubectl -n ${OWN} get deployment again -o 'jsonpath=${fields}'`)).toBe("0");
  }
});

test("deletion of more than five objects requires the typed number", async ({ page }) => {
  await owner.run(
    `for name in a b c d e f; do kubectl -n ${OWN} create configmap many-$name && kubectl -n ${OWN} label configmap many-$name bulk=yes; done`,
  );
  await signInAsUser(page, PASSWORD);
  await openList(page, "configmaps", "many-f");
  await page.getByRole("searchbox", { name: "Filter ConfigMaps" }).fill("bulk=yes");
  await expect(page.getByRole("checkbox", { name: /^Select many-/ })).toHaveCount(6);
  await page.getByRole("checkbox", { name: "Select all 6 listed rows" }).check();
  await page.getByRole("button", { name: "Delete…" }).click();
  const submit = dialog(page).getByRole("button", { name: "Delete (6)" });
  await expect(submit).toBeDisabled();
  await dialog(page).getByLabel("Type 6 to confirm").fill("6");
  await submit.click();
  await page.getByText("Delete: 6 objects done.").waitFor();
  expect(await names(OWN, "configmaps")).toBe("");
});

test("user scales a workload and returns to the list with the keyboard", async ({ page }) => {
  await signInAsUser(page, PASSWORD);
  await openList(page, "deployments", "large");
  const link = page.getByRole("link", { name: "large", exact: true });
  await page.keyboard.press("j");
  await expect(page.locator("tr[data-row] a").first()).toBeFocused();
  for (let row = 0; row < 50 && !(await link.evaluate((it) => it === document.activeElement)); row++) await page.keyboard.press("j");
  await expect(link).toBeFocused();
  // Another object of the live list moves the row.
  await owner.run(`kubectl -n ${OWN} create deployment another --image registry.invalid/none:1 --replicas 0`);
  await expect(page.getByRole("link", { name: "another", exact: true })).toBeVisible();
  await expect(link, "the row keeps the focus").toBeFocused();
  await page.keyboard.press(" ");
  await expect(page.getByText("1 selected")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByText("1 selected")).toBeHidden();
  await page.keyboard.press("r");
  await expect(dialog(page)).toContainText(`east / ${OWN} / large`);
  await page.keyboard.press("Escape");
  await expect(dialog(page)).toBeHidden();
  await link.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "large", exact: true }).waitFor();
  const scale = page.getByRole("button", { name: "Scale…" });
  await scale.waitFor();
  for (let stop = 0; stop < 50 && !(await scale.evaluate((it) => it === document.activeElement)); stop++) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(dialog(page).getByLabel("Replicas")).toBeFocused();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("0");
  await page.keyboard.press("Enter");
  await page.getByText("Scaled large to 0.").waitFor();
  expect(await owner.run(`kubectl -n ${OWN} get deployment large -o 'jsonpath={.spec.replicas}'`)).toBe("0");
  await page.goBack();
  await link.waitFor();
  await page.keyboard.press("j");
  await expect(page.locator("tr[data-row] a").first()).toBeFocused();
});
