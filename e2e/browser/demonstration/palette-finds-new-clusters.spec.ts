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
  await page.getByRole("option", { name: "demo-large" }).waitFor();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/clusters\/demo-large$/);
});
