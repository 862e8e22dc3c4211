/** Focus, scroll positions, and browser history. */

import type { Page } from "@playwright/test";

import { WAITING, asAdministrator as test, expect } from "../stage/users.ts";

/** The scroll offset of an element in pixels. */
async function scrollTop(page: Page, selector: string): Promise<number> {
  return page.locator(selector).evaluate((element) => Math.round(element.scrollTop));
}

test("skip link moves the focus to the content without a navigation", async ({ page }) => {
  await page.goto("/projects");
  await page.getByRole("heading", { name: "Projects", exact: true }).waitFor();
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to content" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.locator("#main")).toBeFocused();
  await expect(page).toHaveURL(/\/projects$/);
});

test("Back restores the scroll position of a list", async ({ page }) => {
  await page.setViewportSize({ width: 1080, height: 500 });
  await page.goto("/clusters/demo-large/pods");
  const list = page.locator(".table-scroll");
  await list.getByRole("link").first().waitFor();
  await list.evaluate((element) => element.scrollTo(0, 1200));
  await expect.poll(() => scrollTop(page, ".table-scroll")).toBe(1200);
  // A click scrolls to its target, so the test uses a link in the middle of the screen.
  await page.waitForTimeout(300);
  await list.evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    const visible = [...element.querySelectorAll("tbody a")].find((link) => {
      const at = link.getBoundingClientRect();
      return at.top > (top + bottom) / 2 && at.bottom < bottom;
    });
    (visible as HTMLElement).click();
  });
  await page.getByRole("heading", { name: "Containers" }).waitFor();
  await page.goBack();
  await expect.poll(() => scrollTop(page, ".table-scroll")).toBe(1200);
});

test("import page creates no token before the user submits the form", async ({ page }) => {
  const posted: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST") posted.push(new URL(request.url()).pathname);
  });
  await page.goto(`/import?cluster=${WAITING}`);
  const create = page.getByRole("button", { name: "Create command" });
  await create.waitFor();
  await page.reload();
  await create.waitFor();
  expect(posted.filter((path) => path.endsWith("/import"))).toEqual([]);
  await create.click();
  await page.getByRole("heading", { name: "Status" }).waitFor();
  expect(posted.filter((path) => path.endsWith("/import"))).toHaveLength(1);
});

test("redirect URI is not truncated", async ({ page }) => {
  await page.setViewportSize({ width: 480, height: 900 });
  await page.goto("/providers?do=create");
  const dialog = page.getByRole("dialog", { name: "Create identity provider" });
  await dialog.getByLabel("Name", { exact: true }).fill("a-provider-with-quite-a-long-name-of-sixty-letters-x");
  const url = dialog.locator(".code.wrap pre").first();
  await expect(url).toContainText("a-provider-with-quite-a-long-name");
  expect(await url.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true);
});

test("descriptions of roles fit the width of the list", async ({ page }) => {
  await page.goto("/clusters/demo-small/members");
  await page.getByRole("button", { name: "Grant role" }).click();
  await page.getByRole("dialog").getByRole("combobox", { name: "Role" }).click();
  const list = page.getByRole("listbox").filter({ hasText: "Cluster Owner" });
  await list.waitFor();
  const fits = (element: Element): boolean => element.scrollWidth <= element.clientWidth;
  expect(await list.evaluate(fits)).toBe(true);
});

test("error of a long form scrolls into view", async ({ page }) => {
  await page.setViewportSize({ width: 900, height: 420 });
  await page.goto("/projects?do=create");
  const dialog = page.getByRole("dialog", { name: "Create project" });
  await page.route("**/v1/projects", (route) =>
    route.request().method() === "POST"
      ? route.fulfill({ status: 409, json: { kind: "Status", status: "Failure", code: 409, reason: "Conflict", message: "refused for this test" } })
      : route.continue(),
  );
  await dialog.getByLabel("Name", { exact: true }).fill("refused");
  await dialog.getByRole("combobox", { name: "Cluster" }).fill("demo-small");
  await dialog.getByRole("option", { name: "demo-small" }).click();
  const create = dialog.getByRole("button", { name: "Create project" });
  await create.scrollIntoViewIfNeeded();
  await create.click();
  await expect(dialog.getByText("refused for this test")).toBeInViewport();
});

test("created user has a URL, and Back returns to the list", async ({ page }) => {
  const name = `created-${Date.now()}`;
  await page.goto("/users");
  await page.getByRole("button", { name: "Create user", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Create user" });
  await dialog.getByLabel("Name", { exact: true }).fill(name);
  await dialog.getByRole("button", { name: "Create user" }).click();
  await dialog.getByRole("button", { name: "I sent the password" }).click();
  await expect(page).toHaveURL(new RegExp(`/users/${name}$`));
  await page.reload();
  await page.getByRole("heading", { name, exact: true }).waitFor();
  await page.goBack();
  await expect(page).toHaveURL(/\/users$/);
  await expect(page.getByRole("dialog", { name: "Create user" })).toBeHidden();
  await page.goForward();
  await expect(page).toHaveURL(new RegExp(`/users/${name}$`));
});

test("created project has a URL, and Back returns to the list", async ({ page, terminal }) => {
  const name = `created-${Date.now()}`;
  await page.goto("/projects?do=create");
  const dialog = page.getByRole("dialog", { name: "Create project" });
  await dialog.getByLabel("Name", { exact: true }).fill(name);
  await dialog.getByRole("combobox", { name: "Cluster" }).fill("demo-small");
  await dialog.getByRole("option", { name: "demo-small" }).click();
  await dialog.getByRole("button", { name: "Create project" }).click();
  await expect(page).toHaveURL(new RegExp(`/projects/${name}$`));
  await page.reload();
  await page.getByRole("heading", { name, exact: true }).waitFor();
  await page.goBack();
  await expect(page).toHaveURL(/\/projects$/);
  await expect(dialog).toBeHidden();
  // Other tests expect no project.
  await terminal.run(`drover project delete ${name} --yes`);
});

test("page of a created role replaces the form in the history", async ({ page, terminal }) => {
  const name = `created-${Date.now()}`;
  await page.goto("/roles");
  await page.getByRole("link", { name: "Create role", exact: true }).click();
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByRole("button", { name: "Create role" }).click();
  await expect(page).toHaveURL(new RegExp(`/roles/${name}$`));
  await page.goBack();
  await expect(page).toHaveURL(/\/roles$/);
  await terminal.run(`drover role delete ${name} --yes`);
});

test("headings of the rules change with the scope of the role", async ({ page }) => {
  await page.goto("/new-role");
  const context = page.getByLabel("Scope", { exact: true });
  const inProject = page.getByRole("heading", { name: "Namespaces of the project" });
  await context.selectOption("Projects");
  await inProject.waitFor();
  await context.selectOption("Clusters");
  await page.getByRole("heading", { name: "Cluster", exact: true }).waitFor();
  await expect(inProject).toBeHidden();
  await page.getByRole("tab", { name: "YAML" }).click();
  const text = page.getByLabel("YAML", { exact: true });
  await text.fill((await text.inputValue()).replace("context: Cluster", "context: Project"));
  await page.getByRole("tab", { name: "Rules" }).click();
  await inProject.waitFor();
});

test("crash loop is reported at the top of the pod and of its Deployment, with a link to the log", async ({ page }) => {
  await page.goto("/clusters/demo-troubled/pods?q=CrashLoopBackOff");
  await page.locator(".table-scroll").getByRole("link").first().click();
  const crash = page.getByRole("alert").filter({ hasText: "CrashLoopBackOff" });
  await expect(crash).toContainText(/exit code \d+, \d+ restarts?/);
  await expect(crash).toBeInViewport();
  await page.getByText(/^Deployment /).first().click();
  await expect(page).toHaveURL(/\/deployments\//);
  await expect(crash.first()).toContainText(/exit code \d+, \d+ restarts?/);
  await crash.first().getByRole("link", { name: "Open previous log" }).click();
  await expect(page).toHaveURL(/\/pods\/.*tab=logs.*previous=yes/);
});
