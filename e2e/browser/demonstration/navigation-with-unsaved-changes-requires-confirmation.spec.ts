import { asAdministrator as test, expect } from "../stage/users.ts";

test("navigation asks before it discards unsaved changes of a role", async ({ page }) => {
  await page.goto("/roles");
  await page.getByRole("link", { name: "Create role", exact: true }).click();
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("half-a-role");
  const question = page.getByRole("dialog", { name: "Discard unsaved changes?" });
  const stay = async () => {
    await question.getByRole("button", { name: "Keep editing" }).click();
    await question.waitFor({ state: "hidden" });
    await expect(page).toHaveURL(/\/new-role$/);
    await expect(name).toHaveValue("half-a-role");
  };

  await page.getByRole("link", { name: "Projects", exact: true }).click();
  await stay();
  await page.goBack();
  await stay();
  await page.goBack();
  await question.getByRole("button", { name: "Discard changes" }).click();
  await page.getByRole("heading", { name: "Roles", exact: true }).waitFor();
  await expect(page).toHaveURL(/\/roles$/);

  // The rejected navigation did not change the history.
  await page.goForward();
  await expect(page).toHaveURL(/\/new-role$/);
  await expect(name).toHaveValue("");
  await name.fill("half-a-role");
  await page.getByRole("link", { name: "Projects", exact: true }).click();
  await question.getByRole("button", { name: "Discard changes" }).click();
  await page.getByRole("heading", { name: "Projects", exact: true }).waitFor();
});

test("navigation does not ask if the role is unchanged", async ({ page }) => {
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
