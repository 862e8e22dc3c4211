/** Tests of the kubectl shell in the browser, with a pod on a real node that connects to the server. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { stage } from "../stage/stage.ts";
import type { Terminal } from "../stage/terminal.ts";
import { chooseAction, choosePassword, expect, signIn, test } from "../stage/test.ts";
import { POD_TIMEOUT_MS, dockOf } from "./terminals.ts";

export interface Environment {
  readonly cluster: string;
  /** A command line with direct access to the cluster. */
  readonly owner: () => Terminal;
  readonly administrator: () => Terminal;
  /** Opens a page in a browser without a session. */
  readonly browser: () => Promise<Page>;
}

const USER = "kim";
const INITIAL_PASSWORD = "the first password of kim";
const PASSWORD = "a long password of the shell user";
/** A role that allows shells, and otherwise only reads. */
const ROLE = "shell-user";
const SHELLS = "kubectl get pods -l app.kubernetes.io/name=drover-kubectl-shell";

export function kubectlShellTests({ cluster, owner, administrator, browser }: Environment): void {
  let page: Page;
  const { dock, screen, state, type, close } = dockOf(() => page);
  const dialog = () => page.getByRole("dialog", { name: `kubectl shell in ${cluster}` });
  const submit = () => dialog().getByRole("button", { name: /^Open kubectl shell/ });
  const open = async () => {
    await dialog().getByLabel("Image").fill(stage.kubectlImage);
    await page.keyboard.press("Enter");
    await expect(state()).toHaveText("Connected", { timeout: POD_TIMEOUT_MS });
    await expect(dialog()).toBeHidden();
  };
  const pods = async () => (await owner().run(`${SHELLS} -o name`)).trim();
  /** Returns a command line with the kubeconfig of the shell, which another user of the namespace could read. */
  const stolen = async () => {
    const config = await owner().run(`kubectl exec ${await pods()} -- cat /home/drover/.kube/config`);
    const file = join(owner().home, "stolen.json");
    await writeFile(file, config);
    const terminal = owner().with(file);
    expect(await terminal.run("kubectl get pods -o name")).toContain("pod/");
    return terminal;
  };
  const expectRevoked = (terminal: Terminal) => expect(terminal.run("kubectl get pods")).rejects.toThrow("You must be logged in to the server");

  test("kubectl shell names the missing permissions of a user who may only read", async () => {
    await administrator().createUser(USER, INITIAL_PASSWORD);
    await administrator().run(`drover access grant cluster-viewer --cluster ${cluster} --user ${USER}`);
    page = await browser();
    await page.goto("/about");
    await signIn(page, USER, INITIAL_PASSWORD);
    await choosePassword(page, PASSWORD);
    await page.getByRole("heading", { name: "About", exact: true }).waitFor();
    await page.goto(`/clusters/${cluster}`);
    await chooseAction(page, "kubectl shell…");
    await expect(dialog().getByLabel("Namespace")).toBeFocused();
    await expect(submit()).toHaveAttribute("aria-disabled", "true");
    await expect(dialog().locator(".banner.error")).toContainText("pods/exec in this namespace");
    await page.keyboard.press("Enter");
    await dialog().getByRole("button", { name: "Cancel", exact: true }).click();
    expect(await pods()).toBe("");
    const rules = "--inherit cluster-viewer --verb get,create,delete --resource pods,pods/exec";
    await administrator().run(`drover role create ${ROLE} --in cluster ${rules}`);
    await administrator().run(`drover access grant ${ROLE} --cluster ${cluster} --user ${USER}`);
  });

  test("kubectl in the shell has exactly the permissions of the user", async () => {
    await page.goto(`/clusters/${cluster}/pods`);
    await page.getByRole("heading", { name: "Pods", exact: true }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("kubectl shell");
    await page.getByRole("option", { name: `${cluster}: kubectl shell…` }).waitFor();
    await page.keyboard.press("Enter");
    await expect(submit()).toBeEnabled();
    await open();
    await type("kubectl get deployments -o name");
    await expect(screen()).toContainText("deployment.apps/counter");
    await type("clear; kubectl delete deployment counter");
    await expect(screen()).toContainText("cannot delete resource");
    const uid = JSON.parse(await administrator().run(`drover user get ${USER} --output json`)).uid as string;
    await type("clear; kubectl auth whoami -o jsonpath='{.status.userInfo.username}'");
    await expect(screen()).toContainText(uid);
    await type(`clear; stat -c 'mode %a' ~/.kube/config; id -u; echo "tokens $(env | grep -c drover_)"; touch /x`);
    await expect(screen()).toContainText("mode 600");
    await expect(screen()).toContainText("65532");
    await expect(screen()).toContainText("tokens 0");
    await expect(screen()).toContainText("Read-only file system");
    const pod = await owner().run(`${SHELLS} -o json`);
    expect(pod, "the specification of the pod contains no token").not.toMatch(/drover_[0-9a-z]/);
  });

  test("closed kubectl shell deletes its pod and revokes its token, also after a reload", async () => {
    const terminal = await stolen();
    await page.reload();
    await expect(state()).toHaveText("Connected");
    await close();
    await expect(dock()).toBeHidden();
    await expect(async () => expect(await pods()).toBe("")).toPass();
    await expectRevoked(terminal);
  });

  test("pod of a shell that cannot start is deleted, and the dialog shows the reason", async () => {
    await chooseAction(page, "kubectl shell…");
    await dialog().getByLabel("Image").fill("drover-e2e/missing:1");
    await submit().click();
    await expect(dialog().locator(".banner.error")).toContainText("The pod did not start", { timeout: POD_TIMEOUT_MS });
    await expect(async () => expect(await pods()).toBe("")).toPass();
    await dialog().getByRole("button", { name: "Cancel", exact: true }).click();
  });

  test("pod ends with the shell", async () => {
    await chooseAction(page, "kubectl shell…");
    await open();
    await type("exit 3");
    await expect(state()).toHaveText("Closed: the command exited with code 3");
    await owner().run(`kubectl wait --for=jsonpath='{.status.phase}'=Succeeded --timeout=30s ${await pods()}`);
    await close();
    await expect(async () => expect(await pods()).toBe("")).toPass();
  });

  test("sign-out closes the kubectl shell", async () => {
    await chooseAction(page, "kubectl shell…");
    await open();
    const terminal = await stolen();
    await page.getByRole("button", { name: /Account and theme$/ }).click();
    await page.getByRole("menuitem", { name: "Sign out", exact: true }).click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await expectRevoked(terminal);
    await expect(async () => expect(await pods()).toBe("")).toPass();
  });

  test("token of the kubectl shell ends when the user is disabled", async () => {
    await page.goto(`/clusters/${cluster}`);
    await signIn(page, USER, PASSWORD);
    await chooseAction(page, "kubectl shell…");
    await open();
    const terminal = await stolen();
    await administrator().run(`drover user disable ${USER}`);
    await expectRevoked(terminal);
    await owner().run(`kubectl delete ${await pods()} --now`);
    await page.context().close();
  });
}
