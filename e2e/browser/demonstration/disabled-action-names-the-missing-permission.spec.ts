/** Actions that the user has no permission for. */

import { asUserWithoutRoles as test, expect } from "../stage/users.ts";

test("disabled action takes the focus, names the missing permission, and does nothing", async ({ page }) => {
  await page.goto("/");
  const name = "Import cluster Requires the permission: create clusters";
  const action = page.getByRole("button", { name });
  await action.focus();
  await expect(action).toBeFocused();
  await expect(action).toHaveAttribute("aria-disabled", "true");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/$/);
  await expect(action).toBeFocused();
});
