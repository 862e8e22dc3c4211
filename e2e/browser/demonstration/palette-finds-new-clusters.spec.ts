import { asAdministrator as test, expect } from "../stage/users.ts";

test("open palette shows clusters that are loaded later", async ({ page, context }) => {
  let continueRequest = () => {};
  const blocked = new Promise<void>((resolve) => (continueRequest = resolve));
  await context.route(/\/management\.drover\.dev\/v1alpha1\/clusters\?/, async (route) => {
    await blocked;
    await route.continue();
  });
  await page.goto("/about");
  await page.getByRole("heading", { name: "About", exact: true }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("demo-large");
  await page.getByText("No results. Use fewer letters.").waitFor();
  continueRequest();
  await page.getByRole("option", { name: "demo-large page", exact: true }).waitFor();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/clusters\/demo-large$/);
});

test("palette contains the actions on the object of the page", async ({ page }) => {
  await page.goto("/clusters/demo-small/nodes/-/simulated-worker-1");
  await page.getByRole("button", { name: "Actions Node simulated-worker-1" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("drain");
  await page.getByRole("option", { name: "Drain Node simulated-worker-1…" }).waitFor();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Drain Node simulated-worker-1" });
  await expect(dialog).toBeVisible();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.goto("/about");
  await page.getByRole("heading", { name: "About", exact: true }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("drain node");
  await expect(page.getByRole("option", { name: /^Drain Node/ })).toHaveCount(0);
});

test("palette opens the dialog that creates objects in a cluster", async ({ page }) => {
  await page.goto("/about");
  await page.getByRole("heading", { name: "About", exact: true }).waitFor();
  for (const cluster of ["demo-small", "demo-large", "demo-large"]) {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill(`${cluster} create from`);
    await page.getByRole("option", { name: `${cluster}: Create from YAML…` }).waitFor();
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL(new RegExp(`/clusters/${cluster}$`));
    const dialog = page.getByRole("dialog", { name: new RegExp(`${cluster}$`) });
    await expect(dialog).toBeVisible();
    await dialog.getByRole("button", { name: "Cancel", exact: true }).click();
    await expect(dialog).toBeHidden();
  }
});

test("palette opens the kubectl shell of the cluster of the page", async ({ page }) => {
  await page.goto("/about");
  await page.getByRole("heading", { name: "About", exact: true }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("kubectl shell");
  await expect(page.getByRole("option", { name: /kubectl shell…/ })).toHaveCount(0);
  await page.goto("/clusters/demo-small/nodes");
  await page.getByRole("link", { name: "simulated-worker-1" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("kubectl shell");
  await page.getByRole("option", { name: "demo-small: kubectl shell…" }).waitFor();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "kubectl shell in demo-small" });
  await expect(dialog.getByLabel("Namespace")).toBeFocused();
  await expect(dialog.getByText("drover cluster kubeconfig demo-small --merge")).toBeVisible();
  await dialog.getByLabel("Namespace").fill(" ");
  await expect(dialog.getByRole("button", { name: "Open kubectl shell" })).toBeDisabled();
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
});
