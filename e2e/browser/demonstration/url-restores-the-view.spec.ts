import { asAdministrator as test, expect } from "../stage/users.ts";

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
