/** Fixtures of all tests: a check for browser errors, more browsers, and steps that many tests use. */

import { type BrowserContext, type BrowserContextOptions, type Page, expect, test as base } from "@playwright/test";

export { expect };

/** Collects errors in the browser console: script errors, policy violations, missing files. */
export class BrowserErrors {
  private readonly errors: string[] = [];
  private readonly expected: RegExp[] = [
    // The page shows a rejected request; the console reports the request, too.
    /^Failed to load resource: the server responded with a status of 4\d\d .*\/(v1|k8s)\//,
    // Requests to clusters without a connected agent fail with 503.
    /^Failed to load resource: the server responded with a status of 503 .*\/k8s\/clusters\/(waiting|east)\//,
    // Pods of the node add and remove network interfaces of this machine.
    /^Failed to load resource: net::ERR_NETWORK_CHANGED .*\/(v1|k8s)\//,
    // The server closes open requests when their session ends.
    /^Failed to load resource: net::ERR_HTTP2_PROTOCOL_ERROR .*[?&]watch=true/,
  ];

  /** Collects the errors of all pages of a context. */
  listen(context: BrowserContext): void {
    context.on("console", (message) => {
      if (message.type() !== "error" && message.type() !== "warning") return;
      const text = `${message.text()} ${message.location().url}`;
      if (!this.expected.some((pattern) => pattern.test(text))) this.errors.push(text);
    });
    context.on("weberror", (error) => this.errors.push(String(error.error())));
  }

  /** Ignores errors that match the pattern, for tests that interrupt connections. */
  expect(pattern: RegExp): void {
    this.expected.push(pattern);
  }

  get all(): readonly string[] {
    return this.errors;
  }
}

/** Opens a page in a separate browser context. */
export type Open = (options?: BrowserContextOptions) => Promise<Page>;

export const test = base.extend<{ browserErrors: BrowserErrors; open: Open }>({
  browserErrors: [
    async ({ context }, use) => {
      const browserErrors = new BrowserErrors();
      browserErrors.listen(context);
      await use(browserErrors);
      expect(browserErrors.all, "the browser reports no errors").toEqual([]);
    },
    { auto: true },
  ],
  open: async ({ browser, browserErrors }, use) => {
    const contexts: BrowserContext[] = [];
    await use(async (options = {}) => {
      const context = await browser.newContext({ storageState: { cookies: [], origins: [] }, ...options });
      contexts.push(context);
      browserErrors.listen(context);
      return context.newPage();
    });
    for (const context of contexts) await context.close();
  },
});

/** Fills in and submits the sign-in form. */
export async function signIn(page: Page, username: string, password: string): Promise<void> {
  await page.getByLabel("User name", { exact: true }).fill(username);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Fills in and submits the form for a new password. */
export async function choosePassword(page: Page, password: string): Promise<void> {
  await page.getByLabel("New password", { exact: true }).fill(password);
  await page.getByLabel("Repeat new password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Change password" }).click();
}

/** Chooses an item of the menu with the actions of the page. */
export async function chooseAction(page: Page, item: string): Promise<void> {
  // The menu closes when the actions change, for example after the previous action.
  await expect(async () => {
    await page.getByRole("button", { name: /^Actions / }).click();
    await page.getByRole("menuitem", { name: item }).click({ timeout: 2_000 });
  }).toPass({ timeout: 20_000 });
}

/** Opens the account menu and chooses an item. */
export async function chooseFromMenu(page: Page, item: string): Promise<void> {
  await page.getByRole("button", { name: /Account and theme$/ }).click();
  await page.getByRole("menu").getByText(item, { exact: true }).click();
}
