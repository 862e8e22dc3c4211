/** What every test has: a browser that complains about nothing, and hands to use the page with. */

import { type BrowserContext, type BrowserContextOptions, type Page, expect, test as base } from "@playwright/test";

export { expect };

/** What a page may never say: errors of scripts, breaches of the policy, things that are missing. */
export class Complaints {
  private readonly heard: string[] = [];
  private readonly expected: RegExp[] = [
    // The page shows the rejection itself; the console repeats it.
    /^Failed to load resource: the server responded with a status of 4\d\d .*\/(v1|k8s)\//,
    // The same for clusters that are not connected.
    /^Failed to load resource: the server responded with a status of 503 .*\/k8s\/clusters\/(waiting|east)\//,
    // Pods of the node add and remove network interfaces of this machine.
    /^Failed to load resource: net::ERR_NETWORK_CHANGED .*\/(v1|k8s)\//,
    // The server closes open requests when their session ends.
    /^Failed to load resource: net::ERR_HTTP2_PROTOCOL_ERROR .*[?&]watch=true/,
  ];

  /** Listens to all pages of a context. */
  listen(context: BrowserContext): void {
    context.on("console", (message) => {
      if (message.type() !== "error" && message.type() !== "warning") return;
      const text = `${message.text()} ${message.location().url}`;
      if (!this.expected.some((pattern) => pattern.test(text))) this.heard.push(text);
    });
    context.on("weberror", (error) => this.heard.push(String(error.error())));
  }

  /** Takes what fits for part of the test: what is cut off on purpose is told by the browser, too. */
  expect(pattern: RegExp): void {
    this.expected.push(pattern);
  }

  get all(): readonly string[] {
    return this.heard;
  }
}

/** Opens another browser, as another person has one. */
export type Open = (options?: BrowserContextOptions) => Promise<Page>;

export const test = base.extend<{ complaints: Complaints; open: Open }>({
  complaints: [
    async ({ context }, use) => {
      const complaints = new Complaints();
      complaints.listen(context);
      await use(complaints);
      expect(complaints.all, "the browser complains about nothing").toEqual([]);
    },
    { auto: true },
  ],
  open: async ({ browser, complaints }, use) => {
    const contexts: BrowserContext[] = [];
    await use(async (options = {}) => {
      const context = await browser.newContext({ storageState: { cookies: [], origins: [] }, ...options });
      contexts.push(context);
      complaints.listen(context);
      return context.newPage();
    });
    for (const context of contexts) await context.close();
  },
});

/** Signs in on the page that asks for it. */
export async function signIn(page: Page, username: string, password: string): Promise<void> {
  await page.getByLabel("User name", { exact: true }).fill(username);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Chooses another password on the page that demands it. */
export async function choosePassword(page: Page, password: string): Promise<void> {
  await page.getByLabel("New password", { exact: true }).fill(password);
  await page.getByLabel("Repeat new password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Change password" }).click();
}

/** Opens the person's menu and chooses from it. */
export async function chooseFromMenu(page: Page, words: string): Promise<void> {
  await page.getByRole("button", { name: /Account and theme$/ }).click();
  await page.getByRole("menu").getByText(words, { exact: true }).click();
}
