/**
 * Tests of the actions on objects. Each test checks the object in the cluster after the action. A user with a role
 * that only reads sees the actions disabled.
 */

import type { BrowserContext, Locator, Page } from "@playwright/test";

import { expectAccessibleInThemes } from "../stage/accessible.ts";
import { stage } from "../stage/stage.ts";
import { Terminal } from "../stage/terminal.ts";
import { BrowserErrors, chooseAction, choosePassword, expect, signIn, test } from "../stage/test.ts";

const CLUSTER = "east";
const PASSWORD = "a long password of the reader";
const PROJECT = "watched";
const NAMESPACE = "watched";
const READER = "nora";
/** A node without a kubelet. Its pods never start. */
const SPARE_NODE = "spare";
/** An image that no registry serves. */
const OTHER_IMAGE = "registry.invalid/other:2";
/** Timeout for the start of a pod. */
const POD_START_TIMEOUT_MS = 60_000;

test.describe.configure({ mode: "serial" });
test.setTimeout(120_000);

let context: BrowserContext;
let page: Page;
/** Terminals of the owner of the cluster and of the administrator of the server. */
let owner: Terminal;
let administrator: Terminal;
const browserErrors = new BrowserErrors();

test.beforeAll(async ({ browser }) => {
  context = await browser.newContext({ baseURL: stage.url, ignoreHTTPSErrors: true, reducedMotion: "reduce", permissions: ["clipboard-read", "clipboard-write"] });
  browserErrors.listen(context);
  page = await context.newPage();
  owner = new Terminal("owner", stage.kubeconfig);
  administrator = new Terminal("administrator");
  await administrator.logIn("admin", stage.password);
  await administrator.run(`drover project create ${PROJECT} --cluster ${CLUSTER} --namespace ${NAMESPACE}`);
  await expect(() => kubectl(`get namespace ${NAMESPACE}`)).toPass({ timeout: POD_START_TIMEOUT_MS });
  await kubectl("apply -f -", JSON.stringify(counter()));
  await page.goto("/");
  await signIn(page, "admin", stage.password);
  await page.getByRole("heading", { name: "Clusters", exact: true }).waitFor();
});

test.afterAll(async () => {
  await context.close();
});

test.afterEach(() => {
  expect(browserErrors.all, "the browser reports no errors").toEqual([]);
});

function kubectl(line: string, input?: string): Promise<string> {
  return owner.run(`kubectl -n ${NAMESPACE} ${line}`, input);
}

/** Returns a field of an object, by a JSONPath. */
function field(object: string, path: string): Promise<string> {
  return kubectl(`get ${object} -o 'jsonpath={${path}}'`);
}

const dialog = (): Locator => page.getByRole("dialog");

async function openObject(path: string, name: string): Promise<void> {
  await page.goto(`/clusters/${CLUSTER}/${path}/${name}`);
  await page.getByRole("heading", { name, exact: true }).waitFor();
  await page.getByRole("button", { name: /^Actions / }).waitFor();
}

async function podName(app: string): Promise<string> {
  const name = (): Promise<string> => field(`pods -l app=${app} --field-selector status.phase=Running`, ".items[0].metadata.name");
  await expect.poll(() => name().catch(() => ""), { timeout: POD_START_TIMEOUT_MS }).not.toBe("");
  return name();
}

/** Returns a Deployment whose container sleeps. */
function counter(): object {
  const container = { name: "counter", image: stage.image, imagePullPolicy: "Never", command: ["sleep", "100000"] };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "counter", namespace: NAMESPACE },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: "counter" } },
      template: {
        metadata: { labels: { app: "counter" } },
        spec: { containers: [container], terminationGracePeriodSeconds: 0 },
      },
    },
  };
}

function cronJob(): object {
  const container = { name: "task", image: stage.image, imagePullPolicy: "Never", command: ["true"] };
  const template = { spec: { containers: [container], restartPolicy: "Never" } };
  return {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "nightly", namespace: NAMESPACE },
    spec: { schedule: "0 3 1 1 *", jobTemplate: { spec: { template } } },
  };
}

/** Returns a PodDisruptionBudget that allows no disruption of pods with the label `app`. */
function budget(app: string): object {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: `${app}-budget`, namespace: NAMESPACE },
    spec: { minAvailable: "100%", selector: { matchLabels: { app } } },
  };
}

/** Returns a Deployment whose pod is bound to the node without a kubelet. */
function bound(): object {
  const container = { name: "app", image: stage.image, imagePullPolicy: "Never" };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "bound", namespace: NAMESPACE },
    spec: {
      selector: { matchLabels: { app: "bound" } },
      template: {
        metadata: { labels: { app: "bound" } },
        spec: {
          nodeName: SPARE_NODE,
          terminationGracePeriodSeconds: 0,
          containers: [container],
          volumes: [{ name: "cache", emptyDir: {} }],
        },
      },
    },
  };
}

/** Replaces the text of an editor. The editor does not indent pasted text. */
async function paste(editor: Locator, text: string): Promise<void> {
  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Backspace");
  await page.evaluate((text) => navigator.clipboard.writeText(text), text);
  await page.keyboard.press("Control+v");
}

test("workload is scaled, and the undo restores the replicas", async () => {
  await openObject(`deployments/${NAMESPACE}`, "counter");
  await page.getByRole("button", { name: "Scale…" }).click();
  await dialog().getByLabel("Replicas").fill("two");
  await expect(dialog().getByRole("button", { name: "Scale", exact: true })).toBeDisabled();
  await dialog().getByLabel("Replicas").fill("2");
  const command = `kubectl --context ${CLUSTER} --namespace ${NAMESPACE} scale deployment counter --replicas 2`;
  await expect(dialog().getByText(command)).toBeVisible();
  await expectAccessibleInThemes(page, "scale");
  await dialog().getByRole("button", { name: "Scale", exact: true }).click();
  await page.getByText("Scaled counter to 2.").waitFor();
  expect(await field("deployment counter", ".spec.replicas")).toBe("2");
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Restored the previous state of counter.").waitFor();
  expect(await field("deployment counter", ".spec.replicas")).toBe("1");
  const managers = await kubectl("get deployment counter --show-managed-fields -o 'jsonpath={.metadata.managedFields[*].manager}'");
  expect(managers).toContain("drover-ui");
});

test("workload is restarted, and its rollout is paused and resumed", async () => {
  await openObject(`deployments/${NAMESPACE}`, "counter");
  await chooseAction(page, "Restart…");
  await dialog().getByRole("button", { name: "Restart" }).click();
  await page.getByText("Restarting counter.").waitFor();
  expect(await field("deployment counter", ".spec.template.metadata.annotations")).toContain("kubectl.kubernetes.io/restartedAt");
  await chooseAction(page, "Pause rollout…");
  await dialog().getByRole("button", { name: "Pause rollout" }).click();
  await page.getByText("Paused the rollout of counter.").waitFor();
  expect(await field("deployment counter", ".spec.paused")).toBe("true");
  await chooseAction(page, "Resume rollout…");
  await dialog().getByRole("button", { name: "Resume rollout" }).click();
  await page.getByText("Resumed the rollout of counter.").waitFor();
  expect(await field("deployment counter", ".spec.paused")).not.toBe("true");
});

test("image is changed, and an earlier revision is restored after a diff", async () => {
  await openObject(`deployments/${NAMESPACE}`, "counter");
  await chooseAction(page, "Change image…");
  await dialog().getByLabel("Image").fill(OTHER_IMAGE);
  await dialog().getByRole("button", { name: "Change image" }).click();
  await page.getByText(`Container counter uses the image ${OTHER_IMAGE}.`).waitFor();
  const image = (): Promise<string> => field("deployment counter", ".spec.template.spec.containers[0].image");
  expect(await image()).toBe(OTHER_IMAGE);
  // The controller creates the ReplicaSet of the new revision.
  await expect.poll(() => field("replicasets", ".items[*].spec.template.spec.containers[0].image")).toContain(OTHER_IMAGE);
  await chooseAction(page, "Roll back…");
  const changes = dialog().getByLabel("Changes", { exact: true });
  await expect(changes).toContainText(new RegExp(`- +(- )?image: ${OTHER_IMAGE}`));
  await expect(changes).toContainText(new RegExp(`\\+ +(- )?image: ${stage.image}`));
  await expectAccessibleInThemes(page, "roll back");
  await dialog().getByRole("button", { name: "Roll back", exact: true }).click();
  await page.getByText("Rolled back counter to revision").waitFor();
  expect(await image()).toBe(stage.image);
});

test("manifest is edited with completion, reviewed, merged and saved", async () => {
  await openObject(`deployments/${NAMESPACE}`, "counter");
  await page.getByRole("tab", { name: "YAML" }).click();
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  const editor = page.getByRole("textbox", { name: "Manifest of counter" });
  await editor.waitFor();
  await expectAccessibleInThemes(page, "editor");
  const review = page.getByRole("button", { name: "Review changes" });
  await expect(review).toBeDisabled();
  const insertAfter = async (line: RegExp, text: string): Promise<void> => {
    await editor.locator(".cm-line").filter({ hasText: line }).first().click();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.keyboard.type(text);
  };
  // The schema of the cluster completes the name of a field.
  await insertAfter(/^  replicas: 1$/, "minRead");
  await page.getByRole("option", { name: /minReadySeconds/ }).click();
  await page.keyboard.type("3");
  await insertAfter(/^  minReadySeconds: 3$/, "unknownField: 1");
  await review.click();
  await expect(page.getByRole("alert")).toContainText('unknown field "spec.unknownField"');
  await editor.locator(".cm-line").filter({ hasText: "unknownField" }).click();
  await page.keyboard.press("Control+Shift+k");
  // A concurrent change of another field is merged.
  await kubectl("annotate deployment counter changed-by=owner");
  await review.click();
  await expect(page.getByText("The editor contains the changes of the cluster and your changes.")).toBeVisible();
  await review.click();
  const changes = page.getByLabel("Changes", { exact: true });
  await expect(changes).toContainText("+   minReadySeconds: 3");
  await expect(changes).not.toContainText(/[+-] +changed-by/);
  await expectAccessibleInThemes(page, "review of a manifest");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved counter.").waitFor();
  expect(await field("deployment counter", ".spec.minReadySeconds")).toBe("3");
  expect(await field("deployment counter", ".metadata.annotations.changed-by")).toBe("owner");
});

test("cron job is suspended, resumed and run", async () => {
  await kubectl("apply -f -", JSON.stringify(cronJob()));
  await openObject(`cronjobs/${NAMESPACE}`, "nightly");
  await chooseAction(page, "Suspend…");
  await dialog().getByRole("button", { name: "Suspend" }).click();
  await page.getByText("Suspended nightly.").waitFor();
  expect(await field("cronjob nightly", ".spec.suspend")).toBe("true");
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Restored the previous state of nightly.").waitFor();
  expect(await field("cronjob nightly", ".spec.suspend")).toBe("false");
  await page.getByRole("button", { name: "Run now…" }).click();
  await dialog().getByLabel("Name of the Job").fill("by-hand");
  await dialog().getByRole("button", { name: "Run now" }).click();
  await page.getByText("Created the Job by-hand.").waitFor();
  expect(await field("job by-hand", ".metadata.ownerReferences[0].name")).toBe("nightly");
  await kubectl("wait --for=condition=complete job/by-hand --timeout=60s");
  // The dialog shows the error of a name that exists.
  await page.getByRole("button", { name: "Run now…" }).click();
  await dialog().getByLabel("Name of the Job").fill("by-hand");
  await dialog().getByRole("button", { name: "Run now" }).click();
  await expect(dialog().getByRole("alert")).toContainText("already exists");
  await dialog().getByRole("button", { name: "Cancel" }).click();
});

test("objects are created from YAML only if the cluster accepts all objects", async () => {
  await page.goto(`/clusters/${CLUSTER}`);
  await chooseAction(page, "Create from YAML…");
  const editor = dialog().getByRole("textbox", { name: "Manifests" });
  await editor.waitFor();
  const manifest = (kind: string, name: string): string =>
    `apiVersion: v1\nkind: ${kind}\nmetadata:\n  name: ${name}\n  namespace: ${NAMESPACE}\n`;
  const create = dialog().getByRole("button", { name: "Create", exact: true });
  await paste(editor, `${manifest("ConfigMap", "first")}---\n${manifest("Unknown", "second")}`);
  await create.click();
  await expect(dialog().getByRole("alert")).toContainText("No object was created.");
  const results = dialog().getByRole("list", { name: "Results" });
  await expect(results).toContainText("ConfigMap first valid");
  await expect(results).toContainText("Unknown second The cluster does not serve the kind Unknown in v1.");
  await expect(kubectl("get configmap first")).rejects.toThrow(/NotFound/);
  await expectAccessibleInThemes(page, "create from YAML");
  await paste(editor, `${manifest("ConfigMap", "first")}---\n${manifest("ConfigMap", "second")}`);
  await create.click();
  await page.getByText("Created 2 objects.").waitFor();
  expect(await kubectl("get configmap first second -o name")).toBe("configmap/first\nconfigmap/second\n");
});

test("form writes the manifests of a workload, and names invalid values", async () => {
  await page.goto(`/clusters/${CLUSTER}`);
  await chooseAction(page, "Create from YAML…");
  await dialog().getByText("Write a workload with a form").click();
  const write = dialog().getByRole("button", { name: "Write YAML" });
  const entry = (name: string): Locator => dialog().getByRole("textbox", { name, exact: true });
  await entry("Name").fill("Written");
  await write.click();
  await expect(entry("Name")).toHaveAccessibleDescription(/lowercase letters/);
  await expect(entry("Image")).toHaveAccessibleDescription(/Enter an image/);
  await expectAccessibleInThemes(page, "form of a workload");
  await entry("Name").fill("written");
  await entry("Namespace").fill(NAMESPACE);
  await entry("Image").fill(stage.image);
  await entry("Port").fill("8080");
  await entry("Command").fill("sleep 1000");
  await entry("Environment variables").fill("MODE=on");
  await write.click();
  await expect(dialog().getByRole("textbox", { name: "Manifests" })).toContainText("kind: Deployment");
  await dialog().getByRole("button", { name: "Create", exact: true }).click();
  await page.getByText("Created 2 objects.").waitFor();
  const container = ".spec.template.spec.containers[0]";
  expect(await field("deployment/written", `${container}.env[0].value`)).toBe("on");
  expect(await field("service/written", ".spec.ports[0].targetPort")).toBe("main");
  await kubectl("delete deployment,service written --wait=false");
});

test("eviction of a protected pod names the PodDisruptionBudget", async () => {
  const pod = await podName("counter");
  await kubectl("apply -f -", JSON.stringify(budget("counter")));
  await expect.poll(() => field("pdb counter-budget", ".status.expectedPods")).not.toBe("");
  await openObject(`pods/${NAMESPACE}`, pod);
  await chooseAction(page, "Evict…");
  await expect(dialog()).toContainText("These PodDisruptionBudgets allow no disruption now: counter-budget");
  await dialog().getByRole("button", { name: "Evict", exact: true }).click();
  await expect(dialog().getByRole("alert")).toContainText("The disruption budget counter-budget needs");
  await kubectl("delete pdb counter-budget");
  await expect(async () => {
    await dialog().getByRole("button", { name: "Evict", exact: true }).click();
    await page.getByText(`Evicted ${pod}.`).waitFor({ timeout: 5_000 });
  }).toPass({ timeout: 30_000 });
  await kubectl(`wait --for=delete pod/${pod} --timeout=60s`);
});

test("debug container is added to a pod", async () => {
  const pod = await podName("counter");
  await openObject(`pods/${NAMESPACE}`, pod);
  await chooseAction(page, "Debug…");
  await dialog().getByLabel("Image").fill(stage.image);
  await dialog().getByLabel("Name of the new container").fill("helper");
  await dialog().getByRole("button", { name: "Add container" }).click();
  await page.getByText("Added the container helper.").waitFor();
  expect(await field(`pod ${pod}`, ".spec.ephemeralContainers[0].targetContainerName")).toBe("counter");
});

test("user with a role that only reads sees the missing permissions", async ({ open }) => {
  await administrator.createUser(READER, "the first password of nora");
  await administrator.run(`drover access grant --project ${PROJECT} --user ${READER} read-only`);
  const reader = await open();
  await reader.goto(`/clusters/${CLUSTER}/deployments/${NAMESPACE}/counter`);
  await signIn(reader, READER, "the first password of nora");
  await choosePassword(reader, PASSWORD);
  await expect(reader.getByRole("heading", { name: "Choose a password" })).toBeHidden();
  const scale = reader.getByRole("menuitem", { name: /^Scale…/ });
  const right = `patch deployments.apps/scale in namespace ${NAMESPACE}`;
  // The role reaches the cluster within seconds.
  await expect(async () => {
    await reader.goto(`/clusters/${CLUSTER}/deployments/${NAMESPACE}/counter`);
    await reader.getByRole("button", { name: /^Actions / }).click({ timeout: 5_000 });
    await expect(scale).toContainText(right, { timeout: 5_000 });
  }).toPass({ timeout: 60_000 });
  await expect(scale).toBeDisabled();
  const restart = reader.getByRole("menuitem", { name: /^Restart…/ });
  await expect(restart).toBeDisabled();
  await expect(restart).toContainText(`Requires the permission: patch deployments.apps in namespace ${NAMESPACE}`);
  await expectAccessibleInThemes(reader, "disabled actions");
  await reader.getByRole("menuitem", { name: "Why? Scale…" }).click();
  await reader.getByRole("heading", { name: `${READER} is not allowed to send this request` }).waitFor();
  await expect(reader.getByText("A cluster owner or an administrator can grant a role.")).toBeVisible();
});

test("deletion requires the typed name only for dangerous kinds", async () => {
  await openObject(`jobs/${NAMESPACE}`, "by-hand");
  await chooseAction(page, "Delete…");
  await dialog().getByLabel("Dependents").selectOption("foreground");
  await expect(dialog().getByText("--cascade foreground")).toBeVisible();
  await dialog().getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("Deleting Job by-hand.").waitFor();
  await kubectl("wait --for=delete job/by-hand --timeout=60s");
});

test("node is cordoned, labelled, tainted and drained", async () => {
  test.setTimeout(180_000);
  await owner.run("kubectl create -f -", JSON.stringify({ apiVersion: "v1", kind: "Node", metadata: { name: SPARE_NODE } }));
  await kubectl("apply -f -", JSON.stringify(bound()));
  await expect.poll(() => field("pods -l app=bound", ".items[*].metadata.name")).not.toBe("");
  const pod = await field("pods -l app=bound", ".items[0].metadata.name");
  // A budget protects only pods that run.
  await kubectl(`patch pod ${pod} --subresource=status --type=merge -p '{"status":{"phase":"Running"}}'`);
  await kubectl("apply -f -", JSON.stringify(budget("bound")));
  await expect.poll(() => field("pdb bound-budget", ".status.expectedPods")).toBe("1");
  await openObject("nodes/-", SPARE_NODE);

  await page.getByRole("button", { name: "Cordon…" }).click();
  await dialog().getByRole("button", { name: "Cordon" }).click();
  await page.getByText(`Cordoned ${SPARE_NODE}.`).waitFor();
  expect(await field(`node ${SPARE_NODE}`, ".spec.unschedulable")).toBe("true");
  await page.getByRole("button", { name: "Uncordon…" }).click();
  await dialog().getByRole("button", { name: "Uncordon" }).click();
  await page.getByText(`Uncordoned ${SPARE_NODE}.`).waitFor();

  await chooseAction(page, "Edit labels…");
  const labels = dialog().getByRole("textbox", { name: "Labels" });
  await labels.fill(`${await labels.inputValue()}\npool=spare`);
  await dialog().getByRole("button", { name: "Save labels" }).click();
  await page.getByText(`Changed the labels of ${SPARE_NODE}.`).waitFor();
  expect(await field(`node ${SPARE_NODE}`, ".metadata.labels.pool")).toBe("spare");

  await chooseAction(page, "Edit taints…");
  const taints = dialog().getByRole("textbox", { name: "Taints" });
  await taints.fill("pool:Never");
  await expect(dialog()).toContainText("Not a taint: pool:Never.");
  await taints.fill("pool=spare:PreferNoSchedule");
  await dialog().getByRole("button", { name: "Save taints" }).click();
  await page.getByText(`Changed the taints of ${SPARE_NODE}.`).waitFor();
  expect(await field(`node ${SPARE_NODE}`, ".spec.taints[*].key")).toContain("pool");

  await chooseAction(page, "Drain…");
  await expect(dialog()).toContainText(`${NAMESPACE}/bound-budget`);
  const start = dialog().getByRole("button", { name: "Drain", exact: true });
  await expect(start, "the deletion of data needs a confirmation").toBeDisabled();
  await dialog().getByLabel("Delete the data of emptyDir volumes").check();
  await expect(dialog().getByText(`drain ${SPARE_NODE} --ignore-daemonsets --delete-emptydir-data`)).toBeVisible();
  await expectAccessibleInThemes(page, "drain plan");
  await start.click();
  const row = dialog().getByRole("listitem").filter({ hasText: pod });
  await expect(row).toContainText("blocked, retrying: Cannot evict pod");
  await expect(row).toContainText("bound-budget");
  await dialog().getByRole("button", { name: "Pause" }).click();
  await expectAccessibleInThemes(page, "drain progress");
  await kubectl("delete pdb bound-budget");
  await dialog().getByRole("button", { name: "Resume" }).click();
  await expect(row).toContainText("gone", { timeout: 60_000 });
  await expect(dialog()).toContainText(`Drained ${SPARE_NODE}.`, { timeout: 60_000 });
  expect(await field(`node ${SPARE_NODE}`, ".spec.unschedulable")).toBe("true");
  await expect(kubectl(`get pod ${pod}`)).rejects.toThrow(/NotFound/);
  await dialog().getByRole("button", { name: "Close" }).last().click();

  await chooseAction(page, "Delete…");
  await expect(dialog().getByRole("button", { name: "Delete", exact: true })).toBeDisabled();
  await dialog().getByRole("textbox").fill(SPARE_NODE);
  await dialog().getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText(`Deleting Node ${SPARE_NODE}.`).waitFor();
  await owner.run(`kubectl wait --for=delete node/${SPARE_NODE} --timeout=60s`);
  await kubectl("delete deployment bound");
});
