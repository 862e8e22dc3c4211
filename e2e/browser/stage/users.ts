/** The users of the demo tests. Each user signs in once per worker. */

import type { Browser, BrowserContext, Page } from "@playwright/test";

import { stage } from "./stage.ts";
import { Terminal } from "./terminal.ts";
import { choosePassword, expect, signIn, test as base } from "./test.ts";

export { expect };

/** The cookies and storage of a signed-in browser. */
export type Session = Awaited<ReturnType<BrowserContext["storageState"]>>;

/** An imported cluster without an agent: its manifest is never applied. */
export const WAITING = "waiting";
const INITIAL_PASSWORD = "good for one thing only";
const NEW_PASSWORD = "chosen by the person itself";

/** Returns a user name per worker: after a failure, a new worker uses the same server. */
function userName(name: string, worker: number): string {
  return `${name}-${worker}`;
}

async function session(browser: Browser, use: (page: Page) => Promise<void>): Promise<Session> {
  const context = await browser.newContext({ baseURL: stage.url, ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await page.goto("/");
  await use(page);
  await page.getByRole("heading", { name: "Clusters", exact: true }).waitFor();
  const state = await context.storageState();
  await context.close();
  return state;
}

/** The storage of a browser without a session. */
export const SIGNED_OUT: Session = { cookies: [], origins: [] };

interface Users {
  /** A terminal that is logged in as the administrator. */
  terminal: Terminal;
  /** The session of the administrator, after the import of the cluster `WAITING`. */
  administrator: Session;
  /** The session of a user without roles. */
  userWithoutRoles: Session;
  /** The name and initial password of a user that must change the password. */
  newUser: { name: string; password: string };
}

export const test = base.extend<object, Users>({
  terminal: [
    async ({}, use) => {
      const terminal = new Terminal("admin");
      await terminal.logIn("admin", stage.password);
      await use(terminal);
    },
    { scope: "worker" },
  ],
  administrator: [
    async ({ browser, terminal }, use) => {
      await terminal.run(`drover cluster import ${WAITING}`);
      await use(await session(browser, (page) => signIn(page, "admin", stage.password)));
    },
    { scope: "worker" },
  ],
  userWithoutRoles: [
    async ({ browser, terminal }, use, worker) => {
      const name = userName("mary", worker.workerIndex);
      await terminal.createUser(name, INITIAL_PASSWORD);
      const signedIn = session(browser, async (page) => {
        await signIn(page, name, INITIAL_PASSWORD);
        await choosePassword(page, NEW_PASSWORD);
      });
      await use(await signedIn);
    },
    { scope: "worker" },
  ],
  newUser: [
    async ({ terminal }, use, worker) => {
      const name = userName("new-user", worker.workerIndex);
      await terminal.createUser(name, INITIAL_PASSWORD);
      await use({ name, password: INITIAL_PASSWORD });
    },
    { scope: "worker" },
  ],
});

/** A test whose browser is signed in as the administrator. After the test, the administrator has no preferences. */
export const asAdministrator = test.extend<{ preferences: void }>({
  storageState: async ({ administrator }, use) => use(administrator),
  preferences: [
    async ({ administrator, playwright }, use) => {
      await use();
      const options = { baseURL: stage.url, ignoreHTTPSErrors: true, storageState: administrator };
      const requests = await playwright.request.newContext(options);
      const session = await requests.get("/v1/session");
      // A test can end the session.
      if (session.ok()) {
        const { csrfToken } = (await session.json()) as { csrfToken: string };
        const headers = { origin: stage.url, "x-drover-csrf": csrfToken };
        expect((await requests.put("/v1/preferences", { headers, data: {} })).status()).toBe(200);
      }
      await requests.dispose();
    },
    { auto: true },
  ],
});
/** A test whose browser is signed in as a user without roles. */
export const asUserWithoutRoles = test.extend({
  storageState: async ({ userWithoutRoles }, use) => use(userWithoutRoles),
});
