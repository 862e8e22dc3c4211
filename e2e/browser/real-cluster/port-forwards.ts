/** A test of port forwards in the browser, with a web server in a pod. */

import { stage } from "../stage/stage.ts";
import { chooseAction, expect, test } from "../stage/test.ts";
import type { Environment } from "./terminals.ts";

const POD = "forwarded";

/** Returns a pod with a web server. Its page sets a cookie and shows all cookies. */
function server(): object {
  const page = "<title>forwarded page</title><p id=cookies></p><script src=/page.js></script>";
  const script = "document.cookie = 'own=1'; document.getElementById('cookies').textContent = document.cookie;";
  const files = `echo "${page}" >/www/index.html; echo "${script}" >/www/page.js; : >/www/favicon.ico`;
  const container = {
    name: "web",
    image: stage.image,
    imagePullPolicy: "Never",
    command: ["sh", "-c", `${files}; exec httpd -f -p 8080 -h /www`],
    ports: [{ containerPort: 8080, name: "http" }],
  };
  return { apiVersion: "v1", kind: "Pod", metadata: { name: POD, namespace: "default" }, spec: { containers: [container] } };
}

export function portForwardTests({ cluster, page, context, owner, browserErrors }: Environment): void {
  test("port of a pod opens in a new tab on its own host, and is stopped in the list", async () => {
    await owner().run("kubectl apply -f -", JSON.stringify(server()));
    await owner().run(`kubectl wait pod/${POD} --for=condition=Ready --timeout=60s`);
    await page().goto(`/clusters/${cluster}/pods/default/${POD}`);
    await chooseAction(page(), "Forward port…");
    const dialog = page().getByRole("dialog", { name: /^Forward port/ });
    await expect(dialog.getByLabel("Port", { exact: true })).toHaveValue("8080");
    await expect(dialog.getByText(`drover port-forward --cluster ${cluster} -n default ${POD} :8080`)).toBeVisible();
    const opening = context().waitForEvent("page");
    await dialog.getByRole("button", { name: "Forward and open" }).click();
    const tab = await opening;
    await expect(tab).toHaveTitle("forwarded page");
    const url = new URL(tab.url());
    expect(url.hostname).toMatch(/^[0-9a-f]{32}\.forwards\.localhost$/);
    expect(url.pathname + url.search, "the address contains no ticket").toBe("/");
    await expect(tab.locator("#cookies"), "scripts see no cookie of Drover").toHaveText("own=1");
    expect(await tab.evaluate(() => window.opener), "the page cannot control the tab of Drover").toBeNull();
    await expect(dialog).toBeHidden();

    await page().goto("/port-forwards");
    const row = page().getByRole("row", { name: new RegExp(`default/${POD}:8080`) });
    await expect(row).toContainText("received");
    await row.getByRole("button", { name: /^Stop/ }).click();
    await expect(page().getByText("No port forwards")).toBeVisible();
    browserErrors.expect(/ 401 .*\.forwards\.localhost/);
    await tab.reload();
    await expect(tab.locator("body")).toContainText("This browser has no access to this port forward.");
    await tab.close();
    await owner().run(`kubectl delete pod ${POD} --now`);
  });
}
