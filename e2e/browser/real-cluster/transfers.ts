/** Tests of the upload and download of files of a container, with a pod on a real node. */

import { createHash, randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { stage } from "../stage/stage.ts";
import type { Terminal } from "../stage/terminal.ts";
import { chooseAction, choosePassword, expect, signIn, test } from "../stage/test.ts";
import type { Environment as Cluster } from "./terminals.ts";

export interface Environment extends Cluster {
  readonly administrator: () => Terminal;
  /** Opens a page in a browser without a session. */
  readonly browser: () => Promise<Page>;
}

const POD = "files";
/** A user who may read the pods of the cluster, and who may not run commands in them. */
const VIEWER = "uma";
const INITIAL_PASSWORD = "the first password of uma";
const PASSWORD = "a long password of the viewer";
/** The name contains characters that shells and options interpret. */
const NAME = "-rf $(id) 'é';.bin";

function pod(): object {
  const container = { name: "main", image: stage.image, imagePullPolicy: "Never", command: ["sleep", "3600"] };
  const spec = { containers: [container], terminationGracePeriodSeconds: 0 };
  return { apiVersion: "v1", kind: "Pod", metadata: { name: POD, namespace: "default" }, spec };
}

export function transferTests({ cluster, page, owner, administrator, browser, browserErrors }: Environment): void {
  const folder = () => {
    const path = join(stage.folder, "transfers");
    mkdirSync(path, { recursive: true });
    return path;
  };
  const dialog = () => page().getByRole("dialog", { name: /^(Download|Upload) file/ });
  const exec = (command: string) => owner().run(`kubectl exec ${POD} -- ${command}`);
  const download = async (path: string) => {
    await chooseAction(page(), "Download file…");
    await dialog().getByLabel("Path of the file or folder").fill(path);
    const [saved] = await Promise.all([
      page().waitForEvent("download"),
      dialog().getByRole("button", { name: "Download", exact: true }).click(),
    ]);
    await expect(dialog()).toBeHidden();
    const file = join(folder(), "downloaded");
    await saved.saveAs(file);
    return { name: saved.suggestedFilename(), file };
  };

  test("uploaded files have the same bytes in the container and after the download", async () => {
    await owner().run("kubectl apply -f -", JSON.stringify(pod()));
    await owner().run(`kubectl wait pod/${POD} --for=condition=Ready --timeout=60s`);
    const bytes = randomBytes(3 * 1024 * 1024 + 17);
    const file = (name: string, buffer: Buffer) => ({ name, mimeType: "application/octet-stream", buffer });
    await page().goto(`/clusters/${cluster}/pods/default/${POD}`);
    await chooseAction(page(), "Upload file…");
    await dialog().getByLabel("Target folder").fill("/tmp");
    await dialog().getByLabel("Files", { exact: true }).setInputFiles([file(NAME, bytes), file("empty", Buffer.alloc(0))]);
    await dialog().getByRole("button", { name: "Upload", exact: true }).click();
    await expect(page().getByText("Uploaded 2 files to /tmp.")).toBeVisible();
    await expect(dialog()).toBeHidden();
    const quoted = `'/tmp/${NAME.replaceAll("'", "'\\''")}'`;
    expect((await exec(`wc -c ${quoted}`)).split(" ")[0]).toBe(String(bytes.length));
    const digest = createHash("sha256").update(bytes).digest("hex");
    expect(await exec(`sha256sum ${quoted}`), "the container has the uploaded bytes").toContain(digest);
    expect((await exec("wc -c /tmp/empty")).trim()).toBe("0 /tmp/empty");

    const saved = await download(`/tmp/${NAME}`);
    expect((await readFile(saved.file)).equals(bytes), "the downloaded file has the uploaded bytes").toBe(true);
  });

  test("folder is downloaded as an archive", async () => {
    await exec("sh -c 'mkdir -p /tmp/logs/inner && echo one >/tmp/logs/inner/a && echo two >/tmp/logs/b'");
    const { name, file } = await download("/tmp/logs/");
    expect(name).toBe("logs.tar");
    const list = await owner().run(`tar -tf '${file}'`);
    expect(list.trim().split("\n").sort()).toEqual(["logs/", "logs/b", "logs/inner/", "logs/inner/a"]);
    expect(await owner().run(`tar -xOf '${file}' logs/inner/a`)).toBe("one\n");
  });

  test("failed transfer names the reason", async () => {
    const fails = async (path: string, reason: RegExp) => {
      await dialog().getByLabel("Path of the file or folder").fill(path);
      await dialog().getByRole("button", { name: "Download", exact: true }).click();
      await expect(dialog().getByText(reason)).toBeVisible();
    };
    await chooseAction(page(), "Download file…");
    await fails("/does/not/exist", /The path does not exist in the container/);
    await fails("/etc/hosts/x", /The path contains a file instead of a folder/);
    await dialog().getByRole("button", { name: "Cancel", exact: true }).click();
    await chooseAction(page(), "Upload file…");
    await dialog().getByLabel("Target folder").fill("/proc/missing");
    await dialog().getByLabel("Files", { exact: true }).setInputFiles({ name: "empty", mimeType: "text/plain", buffer: Buffer.alloc(0) });
    await dialog().getByRole("button", { name: "Upload", exact: true }).click();
    await expect(dialog().getByText(/empty: The path does not exist in the container/)).toBeVisible();
    await dialog().getByRole("button", { name: "Cancel", exact: true }).click();
  });

  test("running download can be cancelled", async () => {
    await exec("mkfifo /tmp/endless");
    await chooseAction(page(), "Download file…");
    await dialog().getByLabel("Path of the file or folder").fill("/tmp/endless");
    await dialog().getByRole("button", { name: "Download", exact: true }).click();
    await dialog().getByText("0 B received").waitFor();
    await dialog().getByRole("button", { name: "Cancel transfer" }).click();
    await expect(page().getByText("The download was cancelled.")).toBeVisible();
    await dialog().getByRole("button", { name: "Cancel", exact: true }).click();
  });

  test("user without the permission cannot transfer files, also not with a request of a script", async () => {
    await administrator().createUser(VIEWER, INITIAL_PASSWORD);
    await administrator().run(`drover access grant cluster-viewer --cluster ${cluster} --user ${VIEWER}`);
    const viewer = await browser();
    await viewer.goto("/about");
    await signIn(viewer, VIEWER, INITIAL_PASSWORD);
    await choosePassword(viewer, PASSWORD);
    await viewer.getByRole("heading", { name: "About", exact: true }).waitFor();
    await viewer.goto(`/clusters/${cluster}/pods/default/${POD}`);
    await viewer.getByRole("button", { name: /^Actions / }).click();
    for (const name of [/^Download file…/, /^Upload file…/]) {
      const item = viewer.getByRole("menuitem", { name });
      await expect(item).toHaveAttribute("aria-disabled", "true");
      await expect(item).toContainText("create pods/exec in namespace default");
    }
    browserErrors.expect(/WebSocket connection to .*\/exec\?/);
    const path = `/k8s/clusters/${cluster}/api/v1/namespaces/default/pods/${POD}/exec?command=id&stdout=true`;
    const opened = await viewer.evaluate(async (path) => {
      const socket = new WebSocket(`wss://${location.host}${path}`, ["v5.channel.k8s.io"]);
      return new Promise((resolve) => {
        socket.onopen = () => resolve(true);
        socket.onerror = () => resolve(false);
      });
    }, path);
    expect(opened, "the cluster rejects the request").toBe(false);
    await viewer.context().close();
    await owner().run(`kubectl delete pod ${POD} --now`);
  });
}
