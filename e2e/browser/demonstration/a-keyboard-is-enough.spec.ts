import type { Page } from "@playwright/test";

import { stage } from "../stage/stage.ts";
import { expect, test } from "../stage/test.ts";

const MOST_STEPS = 60;

/** What has the focus, as a person would name it, and whether one can see that. */
async function focus(page: Page): Promise<{ name: string; visible: boolean }> {
  return page.evaluate(() => {
    const at = document.activeElement;
    if (!(at instanceof HTMLElement) || at === document.body) return { name: "nothing", visible: false };
    const { top, left, bottom, right, width, height } = at.getBoundingClientRect();
    const inSight = width > 0 && height > 0 && bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(at);
    const ringed = (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || boxShadow !== "none";
    const words = at.getAttribute("aria-label") ?? at.textContent?.trim() ?? "";
    const label = at instanceof HTMLInputElement ? at.labels?.[0]?.textContent : undefined;
    return { name: label ?? words, visible: inSight && ringed && at.matches(":focus-visible") };
  });
}

/** Presses a key, and sees where the focus has gone. */
async function press(page: Page, key: string): Promise<string> {
  await page.keyboard.press(key);
  // After the last element the focus moves to the browser, and then to the first element.
  if (key === "Tab" && (await focus(page)).name === "nothing") await page.keyboard.press(key);
  const { name, visible } = await focus(page);
  expect(visible, `after ${key} one sees that “${name}” has the focus`).toBe(true);
  return name;
}

/** Tabs on to something. */
async function tabTo(page: Page, wanted: string): Promise<void> {
  for (let step = 0; step < MOST_STEPS; step++) {
    if ((await press(page, "Tab")).endsWith(wanted)) return;
  }
  throw new Error(`Tab does not lead to “${wanted}”`);
}

test("all actions work with the keyboard, and the focus is visible", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByLabel("User name", { exact: true })).toBeFocused();
  await page.keyboard.type("admin");
  expect(await press(page, "Tab")).toBe("Password");
  await page.keyboard.type(stage.password);
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "demo-small" }).waitFor();

  expect(await press(page, "Tab"), "the first step leads past the frame").toBe("Skip to content");
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("combobox", { name: /Search for a cluster/ })).toBeFocused();
  await page.keyboard.type("demo-small");
  await expect(page.getByRole("option", { name: "demo-small" })).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/clusters\/demo-small$/);
  // The screen has the focus, so that a screen reader announces it.
  await expect(page.getByRole("status").filter({ hasText: "demo-small · Drover" })).toHaveCount(1);
  expect(await page.evaluate(() => document.activeElement?.closest("main") !== null)).toBe(true);
  await page.getByRole("heading", { name: "Conditions" }).waitFor();

  await tabTo(page, "Kubeconfig");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Kubeconfig" });
  await dialog.waitFor();
  await tabTo(page, "Download");
  await expect(dialog.getByRole("button", { name: "Download" })).toBeFocused();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  await expect(page.getByRole("button", { name: "Kubeconfig" })).toBeFocused();

  // A role has rules; each rule has check boxes and fields.
  await page.goto("/new-role");
  await page.getByRole("heading", { name: "Create role", exact: true }).waitFor();
  await tabTo(page, "Add rule");
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Rules: Cluster" }).waitFor();
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Shift+Tab");
  const last = page.getByRole("checkbox", { name: /^deletecollection: / });
  await expect(last).toBeFocused();
  await page.keyboard.press("Space");
  await expect(last).toBeChecked();

  // Unsaved changes ask before navigation.
  await page.keyboard.press("Control+k");
  await page.keyboard.type("create identity");
  await page.keyboard.press("Enter");
  const leaving = page.getByRole("dialog", { name: "Discard unsaved changes?" });
  await leaving.waitFor();
  await page.keyboard.press("Escape");
  await leaving.waitFor({ state: "hidden" });
  await expect(last).toBeFocused();
  await expect(last).toBeChecked();

  await page.keyboard.press("Control+k");
  await page.keyboard.type("create identity");
  await page.keyboard.press("Enter");
  await leaving.waitFor();
  await tabTo(page, "Discard changes");
  await page.keyboard.press("Enter");
  const provider = page.getByRole("dialog", { name: "Create identity provider" });
  await provider.waitFor();
  await expect(provider.getByLabel("Name", { exact: true })).toBeFocused();
  await page.keyboard.type("corp");
  await tabTo(page, "Copy: Redirect URI");
  await tabTo(page, "Issuer");
  await page.keyboard.press("Escape");
  await provider.waitFor({ state: "hidden" });

  await page.keyboard.press("Control+k");
  await page.keyboard.type("create project");
  await page.keyboard.press("Enter");
  const project = page.getByRole("dialog", { name: "Create project" });
  await project.waitFor();
  await expect(project.getByLabel("Name", { exact: true })).toBeFocused();
  await page.keyboard.type("shop");
  await tabTo(page, "requests.cpu: project total");
  await page.keyboard.type("lots");
  await expect(project.getByText("Example: 500m", { exact: false })).toBeVisible();
  await page.keyboard.press("Escape");
  await project.waitFor({ state: "hidden" });

  await page.keyboard.press("Control+k");
  await page.keyboard.type("audit");
  await page.keyboard.press("Enter");
  const log = page.getByRole("table", { name: "Audit log" });
  await log.waitFor();
  await tabTo(page, "Search");
  await tabTo(page, "Audit log");
  await press(page, "Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Record" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Record" }).waitFor({ state: "hidden" });

  await page.keyboard.press("Control+k");
  await page.keyboard.type("about");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "About", exact: true }).waitFor();
  await tabTo(page, "Account and theme");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("menuitemradio").first()).toBeFocused();
  expect(await press(page, "End")).toBe("Sign out everywhere…");
  expect(await press(page, "ArrowUp")).toBe("Sign out");
  await page.keyboard.press("Enter");
  await page.getByText("You are signed out.").waitFor();
  await expect(page.getByLabel("User name", { exact: true })).toBeFocused();
});
