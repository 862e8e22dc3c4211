import { asAdministrator as test, expect } from "../stage/people.ts";

test("unsaved role changes ask before navigation", async ({ page }) => {
  await page.goto("/roles");
  await page.getByRole("link", { name: "Create role", exact: true }).click();
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("half-a-role");
  const asked = page.getByRole("dialog", { name: "Discard unsaved changes?" });
  const stay = async () => {
    await asked.getByRole("button", { name: "Keep editing" }).click();
    await asked.waitFor({ state: "hidden" });
    await expect(page).toHaveURL(/\/new-role$/);
    await expect(name).toHaveValue("half-a-role");
  };

  await page.getByRole("link", { name: "Projects", exact: true }).click();
  await stay();
  await page.goBack();
  await stay();
  await page.goBack();
  await asked.getByRole("button", { name: "Discard changes" }).click();
  await page.getByRole("heading", { name: "Roles", exact: true }).waitFor();
  await expect(page).toHaveURL(/\/roles$/);

  // Staying on the page keeps the history.
  await page.goForward();
  await expect(page).toHaveURL(/\/new-role$/);
  await expect(name).toHaveValue("");
  await name.fill("half-a-role");
  await page.getByRole("link", { name: "Projects", exact: true }).click();
  await asked.getByRole("button", { name: "Discard changes" }).click();
  await page.getByRole("heading", { name: "Projects", exact: true }).waitFor();
});

test("unchanged role is left without a question", async ({ page }) => {
  await page.goto("/roles");
  await page.getByRole("link", { name: "Create role", exact: true }).click();
  await page.getByLabel("Name", { exact: true }).waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "Roles", exact: true }).waitFor();
  await page.goForward();
  await page.getByLabel("Name", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Projects", exact: true }).click();
  await page.getByRole("heading", { name: "Projects", exact: true }).waitFor();
});
