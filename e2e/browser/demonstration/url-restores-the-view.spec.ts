import { WAITING, asAdministrator as test, expect } from "../stage/users.ts";

test("URL contains and restores the filter and the sort order", async ({ page }) => {
  await page.goto("/");
  await page.getByRole("link", { name: "demo-small" }).waitFor();
  await page.getByLabel("Filter clusters").fill("demo -troubled");
  await expect(page.getByRole("link", { name: "demo-troubled" })).toBeHidden();
  await page.getByRole("button", { name: "Name", exact: true }).click();
  await page.getByRole("button", { name: "Name", exact: true }).click();
  await expect(page).toHaveURL(/q=demo.*sort=-name/);
  await page.reload();
  await expect(page.getByLabel("Filter clusters")).toHaveValue("demo -troubled");
  const names = page.getByRole("row").getByRole("link");
  await expect(names).toHaveText(["demo-small", "demo-large"]);
});

test("browser stores only the theme", async ({ page }) => {
  await page.goto("/about");
  await page.getByRole("button", { name: /Account and theme$/ }).click();
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  const keys = await page.evaluate(() => Object.keys(localStorage).concat(Object.keys(sessionStorage)));
  expect(keys).toEqual(["drover-theme"]);
});

test("log of pods of several clusters names the clusters, and its URL restores the selection", async ({ page }) => {
  const log = page.getByRole("log", { name: "Log" });
  const lineOf = (cluster: string) => log.locator(`[title="${cluster}/store-0/store"]`).first();
  await page.goto("/objects/pods?clusters=demo%20-troubled&q=store-0");
  for (const cluster of ["demo-small", "demo-large"]) {
    await page.getByRole("row", { name: new RegExp(`store-0.*${cluster}|${cluster}.*store-0`) }).getByRole("checkbox").check();
  }
  await page.getByRole("button", { name: "Logs", exact: true }).click();
  await expect(page).toHaveURL(/\/logs\?kind=pods&objects=.*demo-large.*store-0/);
  await expect(lineOf("demo-small")).toBeVisible();
  await expect(lineOf("demo-large")).toBeVisible();
  await page.getByRole("checkbox", { name: "Follow" }).uncheck();
  await expect(page).toHaveURL(/\/logs\?kind=pods&objects=.*follow=no/);
  await page.reload();
  await expect(page.getByRole("checkbox", { name: "Follow" })).not.toBeChecked();
  await expect(lineOf("demo-small")).toBeVisible();
  await expect(lineOf("demo-large")).toBeVisible();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download", exact: true }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("pods.log");
});

test("log of several clusters names the cluster that fails, and shows the lines of the other clusters", async ({ page }) => {
  await page.goto(`/logs?kind=pods&objects=demo-small/shop/store-0,${WAITING}/shop/store-0,demo-large/shop/missing`);
  const log = page.getByRole("log", { name: "Log" });
  await expect(log.locator('[title="demo-small/store-0/store"]').first()).toBeVisible();
  await expect(page.getByText(new RegExp(`${WAITING} / shop / store-0: `))).toBeVisible();
  await expect(page.getByText("demo-large / shop / missing: no pods found.")).toBeVisible();
});

test("log of several clusters selects pods by their labels", async ({ page }) => {
  await page.goto("/logs");
  await page.getByLabel("Clusters", { exact: true }).fill("demo-small, demo-large");
  await page.getByLabel("Namespace", { exact: true }).fill("shop");
  await page.getByLabel("Label selector").fill("app.kubernetes.io/name=store");
  await page.getByRole("button", { name: "Show logs" }).click();
  await expect(page).toHaveURL(/clusters=demo-small%2Cdemo-large&namespace=shop&selector=/);
  const log = page.getByRole("log", { name: "Log" });
  for (const cluster of ["demo-small", "demo-large"]) {
    await expect(log.locator(`[title^="${cluster}/store-"]`).first()).toBeVisible();
  }
});

test("log of workloads of several clusters contains the lines of all their pods", async ({ page }) => {
  await page.goto("/logs?kind=statefulsets&objects=demo-small/shop/store,demo-large/shop/store");
  const log = page.getByRole("log", { name: "Log" });
  for (const cluster of ["demo-small", "demo-large"]) {
    await expect(log.locator(`[title^="${cluster}/store-"]`).first()).toBeVisible();
  }
  await expect(page.getByText("drover logs statefulset/store -n shop --cluster demo-small --cluster demo-large")).toBeVisible();
});
