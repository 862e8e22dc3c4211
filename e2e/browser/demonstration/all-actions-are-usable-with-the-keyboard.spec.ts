import type { Page } from "@playwright/test";

import { stage } from "../stage/stage.ts";
import { expect, test } from "../stage/test.ts";

const MAX_STEPS = 60;

/** The accessible name of the focused element, and whether its focus ring is visible. */
async function focus(page: Page): Promise<{ name: string; visible: boolean }> {
  return page.evaluate(() => {
    const element = document.activeElement;
    if (!(element instanceof HTMLElement) || element === document.body) return { name: "", visible: false };
    const { top, left, bottom, right, width, height } = element.getBoundingClientRect();
    const inViewport = width > 0 && height > 0 && bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
    const hasRing = (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || boxShadow !== "none";
    const text = element.getAttribute("aria-label") ?? element.textContent?.trim() ?? "";
    const label = element instanceof HTMLInputElement ? element.labels?.[0]?.textContent : undefined;
    return { name: label ?? text, visible: inViewport && hasRing && element.matches(":focus-visible") };
  });
}

/** Presses a key, expects a visible focus, and returns the name of the focused element. */
async function press(page: Page, key: string): Promise<string> {
  await page.keyboard.press(key);
  // After the last element the focus moves to the browser, and then to the first element.
  if (key === "Tab" && (await focus(page)).name === "") await page.keyboard.press(key);
  const { name, visible } = await focus(page);
  expect(visible, `focus of “${name}” is visible after ${key}`).toBe(true);
  return name;
}

/** Presses Tab until the name of the focused element ends with `name`. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let step = 0; step < MAX_STEPS; step++) {
    if ((await press(page, "Tab")).endsWith(name)) return;
  }
  throw new Error(`Tab does not move the focus to “${name}”`);
}

test("all actions are usable with the keyboard, and the focus is visible", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByLabel("User name", { exact: true })).toBeFocused();
  await page.keyboard.type("admin");
  expect(await press(page, "Tab")).toBe("Password");
  await page.keyboard.type(stage.password);
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "demo-small" }).waitFor();

  expect(await press(page, "Tab"), "first focused element skips the navigation").toBe("Skip to content");
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("combobox", { name: /Search for a cluster/ })).toBeFocused();
  await page.keyboard.type("demo-small");
  await expect(page.getByRole("option", { name: "demo-small page", exact: true })).toHaveAttribute("aria-selected", "true");
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

  // Each rule of a role has checkboxes and fields.
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

  // The page asks before it discards unsaved changes.
  await page.keyboard.press("Control+k");
  await page.keyboard.type("create identity");
  await page.keyboard.press("Enter");
  const discard = page.getByRole("dialog", { name: "Discard unsaved changes?" });
  await discard.waitFor();
  await page.keyboard.press("Escape");
  await discard.waitFor({ state: "hidden" });
  await expect(last).toBeFocused();
  await expect(last).toBeChecked();

  await page.keyboard.press("Control+k");
  await page.keyboard.type("create identity");
  await page.keyboard.press("Enter");
  await discard.waitFor();
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
