/**
 * Tests with a user of an OpenID Connect provider: the user has no permissions after the first sign-in, becomes
 * a member of a project, sees only this project, and loses all access when the role is removed.
 */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { stage } from "../stage/stage.ts";
import { Terminal } from "../stage/terminal.ts";
import { type BrowserErrors, expect, test } from "../stage/test.ts";

const PROVIDER = "corp";
const PROJECT = "web";
const NAMESPACE = "front";
/** The login at the provider, and the user name on the server. */
const LOGIN = "ann";
/** Maximum time from the removal of a role to the end of the streams that need it. */
const REVOKED_WITHIN_MS = 5_000;
/** Timeout for the start of a pod. */
const POD_START_TIMEOUT_MS = 60_000;

/** The environment that the previous tests created. */
export interface Environment {
  readonly cluster: string;
  /** Password of the administrator, for browser and terminal. */
  readonly password: string;
  readonly page: () => Page;
  readonly administrator: () => Terminal;
  /** The terminal of the cluster's owner. */
  readonly owner: () => Terminal;
  /** Checks the errors of all browsers. */
  readonly browserErrors: BrowserErrors;
  /** Opens a page in a browser without a session. */
  readonly browser: () => Promise<Page>;
  /** Returns a Deployment whose container writes one log line per second. */
  readonly counter: (namespace: string) => object;
}

export function providerUserTests(environment: Environment): void {
  let userPage: Page;
  let terminal: Terminal;

  test("user of a provider has no permissions after the first sign-in", async () => {
    const spec = {
      displayName: "Corp",
      oidc: {
        issuer: stage.issuer,
        clientId: stage.clientId,
        scopes: ["profile", "email", "groups", "offline_access"],
        caBundle: await readFile(stage.issuerAuthority, "utf8"),
      },
    };
    const administrator = environment.administrator();
    // An earlier test ended all sessions.
    await administrator.logIn("admin", environment.password);
    await writeFile(join(administrator.home, "corp.json"), JSON.stringify(spec));
    await administrator.run(`drover provider create ${PROVIDER} -f corp.json --secret-stdin`, `${stage.clientSecret}\n`);
    await administrator.run(`drover provider test ${PROVIDER}`);
    await administrator.run(`drover provider enable ${PROVIDER}`);

    // The pages of the provider request an external font and have no icon.
    environment.browserErrors.expect(/fonts\.googleapis\.com|127\.0\.0\.1:\d+\/favicon\.ico/);
    userPage = await environment.browser();
    await userPage.goto("/");
    await userPage.getByRole("button", { name: "Sign in with Corp" }).click();
    await userPage.getByPlaceholder("Enter any login").fill(LOGIN);
    await userPage.getByPlaceholder("and password").fill("any");
    await userPage.getByRole("button", { name: "Sign-in" }).click();
    await userPage.getByRole("button", { name: "Continue" }).click();
    await userPage.getByRole("heading", { name: "No role in any cluster" }).waitFor();
    expect(userPage.url()).toBe(`${stage.url}/`);
    await userPage.goto(`/clusters/${environment.cluster}`);
    await userPage.getByRole("heading", { name: `Cluster ${environment.cluster} not found` }).waitFor();
    await userPage.goto("/projects");
    await userPage.getByRole("heading", { name: "No projects in which you have a role" }).waitFor();
  });

  test("project member sees only this project in the UI", async () => {
    const administrator = environment.administrator();
    await administrator.run(`drover project create ${PROJECT} --cluster ${environment.cluster} --namespace ${NAMESPACE}`);
    await administrator.run(`drover project create other --cluster ${environment.cluster} --namespace vault`);
    await expect(async () => {
      await environment.owner().run(`kubectl get namespace ${NAMESPACE} vault`);
    }).toPass({ timeout: POD_START_TIMEOUT_MS });
    await environment.owner().run("kubectl apply -f -", JSON.stringify(environment.counter(NAMESPACE)));

    const page = environment.page();
    await page.goto(`/projects/${PROJECT}`);
    await page.getByRole("button", { name: "Grant role" }).click();
    const dialog = page.getByRole("dialog", { name: `Grant role in project ${PROJECT}` });
    await dialog.getByLabel("Subject", { exact: true }).fill(LOGIN);
    // Another provider can have a user with this name.
    await dialog.getByText(new RegExp(`\\b${PROVIDER}: `)).waitFor();
    await dialog.getByRole("combobox", { name: "Role" }).click();
    await dialog.getByRole("option", { name: /^Project Member/ }).click();
    await dialog.getByRole("button", { name: "Grant role" }).click();
    await page.getByText(`Granted the role to ${LOGIN}.`).waitFor();

    await userPage.goto("/projects");
    await userPage.getByRole("link", { name: PROJECT }).waitFor();
    await expect(userPage.getByRole("link", { name: "other" })).toHaveCount(0);
    await userPage.getByRole("link", { name: PROJECT }).click();
    await userPage.getByRole("link", { name: NAMESPACE }).click();
    await userPage.getByRole("link", { name: /^counter-/ }).waitFor({ timeout: POD_START_TIMEOUT_MS });
    await userPage.goto(`/clusters/${environment.cluster}/pods?namespace=vault`);
    await userPage.getByRole("heading", { name: "No permission to list Pods in vault" }).waitFor();
    // The list selects the only namespace of the member.
    await userPage.goto(`/clusters/${environment.cluster}/pods`);
    await userPage.getByRole("link", { name: /^counter-/ }).waitFor();
    await userPage.goto("/projects/other");
    await userPage.getByRole("heading", { name: "Project other not found" }).waitFor();
  });

  test("project member uses kubectl after approving the login in the browser", async () => {
    terminal = new Terminal(LOGIN);
    const line = `drover login '${stage.url}' --provider ${PROVIDER} --ca-fingerprint '${stage.fingerprint}'`;
    const loggedIn = terminal.run(`${line} >login.txt 2>&1`);
    const code = await expect
      .poll(async () => /\b[A-Z]{4}-[A-Z]{4}\b/.exec(await readFile(join(terminal.home, "login.txt"), "utf8").catch(() => "")))
      .not.toBeNull()
      .then(async () => /\b[A-Z]{4}-[A-Z]{4}\b/.exec(await readFile(join(terminal.home, "login.txt"), "utf8"))?.[0] ?? "");
    await userPage.goto("/device");
    await userPage.getByLabel("Code", { exact: true }).fill(code);
    await userPage.getByRole("button", { name: "Show request" }).click();
    await userPage.getByRole("button", { name: "Approve", exact: true }).click();
    await userPage.getByRole("heading", { name: "Approved" }).waitFor();
    await loggedIn;
    await terminal.run(`drover cluster kubeconfig ${environment.cluster} >kubeconfig`);
    expect(await terminal.run(`kubectl get pods -n ${NAMESPACE} --no-headers`)).toMatch(/^counter-/);
    await terminal.run(`kubectl delete pod -n ${NAMESPACE} -l app=counter --wait=false`);
    for (const command of ["get pods -n vault", "get pods -A", "get nodes", "get secrets -n default"]) {
      await expect(terminal.run(`kubectl ${command}`), command).rejects.toThrow(/Forbidden/);
    }
  });

  test("removal of a role closes an open log and ends all access", async () => {
    await userPage.goto(`/clusters/${environment.cluster}/pods?namespace=${NAMESPACE}`);
    const row = userPage.getByRole("row", { name: /counter-.*Running/ });
    await row.getByRole("link", { name: /^counter-/ }).first().click({ timeout: POD_START_TIMEOUT_MS });
    await userPage.getByRole("tab", { name: "Logs" }).click();
    const log = userPage.getByRole("log", { name: "Log" });
    await expect(log).toContainText("line 2", { timeout: POD_START_TIMEOUT_MS });

    // The server closes the stream.
    environment.browserErrors.expect(/ERR_HTTP2_PROTOCOL_ERROR .*\/log\?/);
    const page = environment.page();
    await page.goto(`/projects/${PROJECT}`);
    await page.getByRole("button", { name: `Remove Project Member from ${LOGIN}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove role" }).click();
    await page.getByText(`Removed the role from ${LOGIN}.`).waitFor();
    const removed = Date.now();
    const last = async () => [...(await log.innerText()).matchAll(/line (\d+)/g)].map((match) => Number(match[1])).at(-1);
    // The log has a new line each second: two equal reads show that it ended.
    await expect(async () => {
      const before = await last();
      await userPage.waitForTimeout(1_500);
      expect(await last()).toBe(before);
    }).toPass({ timeout: REVOKED_WITHIN_MS + 3_000 });
    expect(Date.now() - removed).toBeLessThan(REVOKED_WITHIN_MS + 3_000);
    // Without a role, the server responds that the cluster does not exist.
    await expect(terminal.run(`kubectl get pods -n ${NAMESPACE}`)).rejects.toThrow(/not found/);
    await userPage.goto("/");
    await userPage.getByRole("heading", { name: "No role in any cluster" }).waitFor();
    await userPage.context().close();
  });
}
