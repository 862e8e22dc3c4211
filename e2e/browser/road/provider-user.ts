/**
 * Chapters of the story: somebody whom an identity provider vouches for is nobody, becomes a member of a
 * project, sees that project and nothing else, and loses what is open with the role.
 */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { stage } from "../stage/stage.ts";
import { Terminal } from "../stage/terminal.ts";
import { type Complaints, expect, test } from "../stage/test.ts";

const PROVIDER = "corp";
const PROJECT = "web";
const NAMESPACE = "front";
/** As the provider knows them; the user on the server is called the same. */
const PERSON = "ann";
/** From the click that takes a role away to the end of what it opened. */
const REVOKED_WITHIN_MS = 5_000;
/** What a real cluster takes to start a pod. */
const STARTS_MS = 60_000;

/** What the chapters before them have left. */
export interface Story {
  readonly cluster: string;
  /** The administrator's password, browser and terminal. */
  readonly password: string;
  readonly page: () => Page;
  readonly administrator: () => Terminal;
  /** The terminal of the cluster's owner. */
  readonly owner: () => Terminal;
  /** What the browsers may complain of from now on. */
  readonly complaints: Complaints;
  /** Opens a browser in which nobody has signed in. */
  readonly browser: () => Promise<Page>;
  /** A Deployment in a namespace, whose container writes a line each second. */
  readonly counter: (namespace: string) => object;
}

export function providerUserTests(story: Story): void {
  let theirs: Page;
  let terminal: Terminal;

  test("first sign-in with a provider has no permissions", async () => {
    const spec = {
      displayName: "Corp",
      oidc: {
        issuer: stage.issuer,
        clientId: stage.clientId,
        scopes: ["profile", "email", "groups", "offline_access"],
        caBundle: await readFile(stage.issuerAuthority, "utf8"),
      },
    };
    const administrator = story.administrator();
    // An earlier test ended all sessions.
    await administrator.logIn("admin", story.password);
    await writeFile(join(administrator.home, "corp.json"), JSON.stringify(spec));
    await administrator.run(`drover provider create ${PROVIDER} -f corp.json --secret-stdin`, `${stage.clientSecret}\n`);
    await administrator.run(`drover provider test ${PROVIDER}`);
    await administrator.run(`drover provider enable ${PROVIDER}`);

    // The pages of the provider request an external font and have no icon.
    story.complaints.expect(/fonts\.googleapis\.com|127\.0\.0\.1:\d+\/favicon\.ico/);
    theirs = await story.browser();
    await theirs.goto("/");
    await theirs.getByRole("button", { name: "Sign in with Corp" }).click();
    await theirs.getByPlaceholder("Enter any login").fill(PERSON);
    await theirs.getByPlaceholder("and password").fill("any");
    await theirs.getByRole("button", { name: "Sign-in" }).click();
    await theirs.getByRole("button", { name: "Continue" }).click();
    await theirs.getByRole("heading", { name: "No role in any cluster" }).waitFor();
    expect(theirs.url()).toBe(`${stage.url}/`);
    await theirs.goto(`/clusters/${story.cluster}`);
    await theirs.getByRole("heading", { name: `Cluster ${story.cluster} not found` }).waitFor();
    await theirs.goto("/projects");
    await theirs.getByRole("heading", { name: "No projects in which you have a role" }).waitFor();
  });

  test("project member sees only this project in the UI", async () => {
    const administrator = story.administrator();
    await administrator.run(`drover project create ${PROJECT} --cluster ${story.cluster} --namespace ${NAMESPACE}`);
    await administrator.run(`drover project create other --cluster ${story.cluster} --namespace vault`);
    await expect(async () => {
      await story.owner().run(`kubectl get namespace ${NAMESPACE} vault`);
    }).toPass({ timeout: STARTS_MS });
    await story.owner().run("kubectl apply -f -", JSON.stringify(story.counter(NAMESPACE)));

    const page = story.page();
    await page.goto(`/projects/${PROJECT}`);
    await page.getByRole("button", { name: "Grant role" }).click();
    const dialog = page.getByRole("dialog", { name: `Grant role in project ${PROJECT}` });
    await dialog.getByLabel("Subject", { exact: true }).fill(PERSON);
    // Another provider can have a user with this name.
    await dialog.getByText(new RegExp(`\\b${PROVIDER}: `)).waitFor();
    await dialog.getByRole("combobox", { name: "Role" }).click();
    await dialog.getByRole("option", { name: /^Project Member/ }).click();
    await dialog.getByRole("button", { name: "Grant role" }).click();
    await page.getByText(`Granted the role to ${PERSON}.`).waitFor();

    await theirs.goto("/projects");
    await theirs.getByRole("link", { name: PROJECT }).waitFor();
    await expect(theirs.getByRole("link", { name: "other" })).toHaveCount(0);
    await theirs.getByRole("link", { name: PROJECT }).click();
    await theirs.getByRole("link", { name: NAMESPACE }).click();
    await theirs.getByRole("link", { name: /^counter-/ }).waitFor({ timeout: STARTS_MS });
    await theirs.goto(`/clusters/${story.cluster}/pods?namespace=vault`);
    await theirs.getByRole("heading", { name: "No permission to list Pods in vault" }).waitFor();
    // The list selects the only namespace of the member.
    await theirs.goto(`/clusters/${story.cluster}/pods`);
    await theirs.getByRole("link", { name: /^counter-/ }).waitFor();
    await theirs.goto("/projects/other");
    await theirs.getByRole("heading", { name: "Project other not found" }).waitFor();
  });

  test("project member uses kubectl after confirming the login in the browser", async () => {
    terminal = new Terminal(PERSON);
    const line = `drover login '${stage.url}' --provider ${PROVIDER} --ca-fingerprint '${stage.fingerprint}'`;
    const loggedIn = terminal.run(`${line} >login.txt 2>&1`);
    const code = await expect
      .poll(async () => /\b[A-Z]{4}-[A-Z]{4}\b/.exec(await readFile(join(terminal.home, "login.txt"), "utf8").catch(() => "")))
      .not.toBeNull()
      .then(async () => /\b[A-Z]{4}-[A-Z]{4}\b/.exec(await readFile(join(terminal.home, "login.txt"), "utf8"))?.[0] ?? "");
    await theirs.goto("/device");
    await theirs.getByLabel("Code", { exact: true }).fill(code);
    await theirs.getByRole("button", { name: "Show request" }).click();
    await theirs.getByRole("button", { name: "Approve", exact: true }).click();
    await theirs.getByRole("heading", { name: "Approved" }).waitFor();
    await loggedIn;
    await terminal.run(`drover cluster kubeconfig ${story.cluster} >kubeconfig`);
    expect(await terminal.run(`kubectl get pods -n ${NAMESPACE} --no-headers`)).toMatch(/^counter-/);
    await terminal.run(`kubectl delete pod -n ${NAMESPACE} -l app=counter --wait=false`);
    for (const refused of ["get pods -n vault", "get pods -A", "get nodes", "get secrets -n default"]) {
      await expect(terminal.run(`kubectl ${refused}`), refused).rejects.toThrow(/Forbidden/);
    }
  });

  test("revoked role ends an open log and all access", async () => {
    await theirs.goto(`/clusters/${story.cluster}/pods?namespace=${NAMESPACE}`);
    const row = theirs.getByRole("row", { name: /counter-.*Running/ });
    await row.getByRole("link", { name: /^counter-/ }).first().click({ timeout: STARTS_MS });
    await theirs.getByRole("tab", { name: "Logs" }).click();
    const log = theirs.getByRole("log", { name: "Log" });
    await expect(log).toContainText("line 2", { timeout: STARTS_MS });

    // The server closes the stream.
    story.complaints.expect(/ERR_HTTP2_PROTOCOL_ERROR .*\/log\?/);
    const page = story.page();
    await page.goto(`/projects/${PROJECT}`);
    await page.getByRole("button", { name: `Remove Project Member from ${PERSON}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove role" }).click();
    await page.getByText(`Removed the role from ${PERSON}.`).waitFor();
    const taken = Date.now();
    const last = async () => [...(await log.innerText()).matchAll(/line (\d+)/g)].map((found) => Number(found[1])).at(-1);
    // The log has a new line each second: two equal reads show that it ended.
    await expect(async () => {
      const seen = await last();
      await theirs.waitForTimeout(1_500);
      expect(await last()).toBe(seen);
    }).toPass({ timeout: REVOKED_WITHIN_MS + 3_000 });
    expect(Date.now() - taken).toBeLessThan(REVOKED_WITHIN_MS + 3_000);
    // The user cannot see the cluster.
    await expect(terminal.run(`kubectl get pods -n ${NAMESPACE}`)).rejects.toThrow(/not found/);
    await theirs.goto("/");
    await theirs.getByRole("heading", { name: "No role in any cluster" }).waitFor();
    await theirs.context().close();
  });
}
