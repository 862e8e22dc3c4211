/** All screens and dialogs of the UI, with the steps that open each one. */

import type { Page } from "@playwright/test";

import type { ListProblem } from "../stage/row-service.ts";
import { WAITING } from "../stage/users.ts";
import { chooseAction, chooseFromMenu } from "../stage/test.ts";

/** A screen, or a dialog or menu on a screen. */
export interface Screen {
  /** Part of the test title, and the name of the snapshot file. */
  readonly name: string;
  readonly path: string;
  /** `false` if the content differs between runs; the screen then has no text snapshot. */
  readonly stable?: false;
  /** A response of the API server that the test fakes, because no cluster of the demo sends it. */
  readonly fakeResponse?: { readonly to: RegExp; readonly code: number; readonly message: string };
  /** A list that the test fakes, because no cluster of the demo has the problem. */
  readonly fakeList?: ListProblem & { readonly plural: string };
  /** The source address that most users share, as the server reports it to administrators; null for none. */
  readonly sharedAddress?: { readonly address: string; readonly users: number } | null;
  /** Steps after the page is loaded that open the dialog or menu. */
  readonly then?: (page: Page) => Promise<void>;
  /** Waits until the content of the screen is loaded. */
  readonly ready: (page: Page) => Promise<void>;
}

const heading = (name: string) => (page: Page) => page.getByRole("heading", { name, exact: true }).waitFor();
const dialog = (name: string) => (page: Page) => page.getByRole("dialog", { name }).waitFor();
const press = (name: string) => (page: Page) => page.getByRole("button", { name, exact: true }).click();

/** The screens that the tests open as an administrator. */
export const SCREENS: readonly Screen[] = [
  {
    name: "all-clusters",
    path: "/",
    ready: async (page) => {
      await page.getByRole("row", { name: /waiting for its manifest/ }).waitFor();
      await page.getByRole("row", { name: /demo-troubled/ }).getByText("3 / 4").waitFor();
    },
  },
  { name: "no-matching-cluster", path: "/?q=nothing-like-this", ready: heading("No results") },
  {
    name: "cluster",
    path: "/clusters/demo-troubled",
    ready: (page) => page.getByText("3 of 4 ready").waitFor(),
  },
  {
    name: "cluster-waiting-for-agent",
    path: `/clusters/${WAITING}`,
    ready: (page) => page.getByRole("link", { name: "Show import command" }).waitFor(),
  },
  {
    name: "list-of-nodes",
    path: "/clusters/demo-small/nodes",
    ready: async (page) => {
      await page.getByRole("link", { name: "simulated-worker-2" }).waitFor();
      // The usage arrives later than the rows.
      await page.getByRole("columnheader", { name: "Memory" }).waitFor();
    },
  },
  {
    name: "list-of-workloads",
    path: "/clusters/demo-small/statefulsets",
    ready: (page) => page.getByRole("link", { name: "store" }).waitFor(),
  },
  {
    name: "views-menu",
    path: "/objects/nodes",
    then: (page) => page.getByRole("button", { name: /^Views / }).click(),
    ready: (page) => page.getByRole("menuitem", { name: "Save this view…" }).waitFor(),
  },
  {
    name: "save-view",
    path: "/objects/nodes",
    then: async (page) => {
      await page.getByRole("button", { name: /^Views / }).click();
      await page.getByRole("menuitem", { name: "Save this view…" }).click();
    },
    ready: dialog("Save view"),
  },
  {
    name: "manage-views",
    path: "/objects/nodes",
    then: async (page) => {
      await page.getByRole("button", { name: /^Views / }).click();
      await page.getByRole("menuitem", { name: "Manage views…" }).click();
    },
    ready: dialog("Saved views"),
  },
  {
    name: "list-of-failing-pods",
    path: "/clusters/demo-troubled/pods",
    stable: false,
    ready: (page) => page.getByText("CrashLoopBackOff").first().waitFor(),
  },
  {
    name: "list-of-events",
    path: "/clusters/demo-troubled/events",
    stable: false,
    ready: (page) => page.getByText("FailedScheduling").first().waitFor(),
  },
  {
    name: "no-matching-pod",
    path: "/clusters/demo-small/pods?q=nothing-like-this",
    stable: false,
    ready: (page) => page.getByText("Remove words", { exact: false }).waitFor(),
  },
  {
    name: "list-of-unreachable-cluster",
    path: `/clusters/${WAITING}/pods`,
    ready: heading(`Cannot reach ${WAITING}: waiting for its manifest`),
  },
  {
    name: "list-without-permission",
    path: "/clusters/demo-small/pods",
    fakeList: { plural: "pods", code: 403, message: 'pods is forbidden: User "drover:u-1" cannot list resource "pods"' },
    ready: heading("No permission to list Pods in all namespaces of demo-small"),
  },
  {
    name: "list-of-unserved-kind",
    path: "/clusters/demo-small/cronjobs",
    fakeList: { plural: "cronjobs", code: 404, message: "the server could not find the requested resource" },
    ready: heading("demo-small does not serve CronJobs"),
  },
  {
    name: "tokens",
    path: "/tokens",
    stable: false,
    ready: (page) => page.getByText("this session").waitFor(),
  },
  { name: "create-token", path: "/tokens", then: press("Create token"), ready: dialog("Create token") },
  { name: "users", path: "/users", stable: false, ready: (page) => page.getByText("you", { exact: true }).waitFor() },
  {
    name: "user",
    path: "/users/admin",
    stable: false,
    ready: (page) => page.getByRole("heading", { name: "Sign-in method" }).waitFor(),
  },
  {
    name: "link-identity",
    path: "/users/admin",
    then: press("Link identity…"),
    ready: dialog("Link identity to admin"),
  },
  { name: "user-not-found", path: "/users/nobody", ready: heading("User nobody not found") },
  { name: "create-user", path: "/users", then: press("Create user"), ready: dialog("Create user") },
  { name: "identity-providers", path: "/providers", ready: heading("No identity providers yet") },
  {
    name: "create-oidc-provider",
    path: "/providers",
    then: press("Create identity provider"),
    ready: dialog("Create identity provider"),
  },
  {
    name: "create-ldap-provider",
    path: "/providers?do=create",
    then: async (page) => {
      await page.getByLabel("Protocol").selectOption("ldap");
    },
    ready: (page) => page.getByLabel("User base DN").waitFor(),
  },
  {
    name: "identity-provider-not-found",
    path: "/providers/nowhere",
    ready: heading("Identity provider nowhere not found"),
  },
  {
    name: "audit-log",
    path: "/audit",
    stable: false,
    ready: (page) => page.getByRole("table", { name: "Audit log" }).waitFor(),
  },
  {
    name: "audit-record",
    path: "/audit",
    stable: false,
    then: (page) => page.getByRole("table", { name: "Audit log" }).locator("tbody button").first().click(),
    ready: dialog("Record"),
  },
  {
    name: "no-matching-audit-record",
    path: "/audit?user=nobody-like-this",
    stable: false,
    ready: heading("No results"),
  },
  { name: "settings", path: "/settings", ready: (page) => page.getByText("session-idle-ttl", { exact: true }).waitFor() },
  {
    name: "edit-setting",
    path: "/settings",
    then: (page) => page.getByRole("button", { name: /Edit session-idle-ttl/ }).click(),
    ready: dialog("Edit setting"),
  },
  {
    name: "pod",
    path: "/clusters/demo-small/pods/shop/store-0",
    stable: false,
    ready: (page) => page.getByRole("heading", { name: "Containers" }).waitFor(),
  },
  {
    name: "workload",
    path: "/clusters/demo-small/statefulsets/shop/store",
    ready: (page) => page.getByRole("link", { name: "store-0" }).waitFor(),
  },
  {
    name: "object-events",
    path: "/clusters/demo-small/pods/shop/store-0?tab=events",
    stable: false,
    ready: (page) => page.getByRole("tabpanel").getByText(/Scheduled|No events/).first().waitFor(),
  },
  {
    name: "metrics",
    path: "/clusters/demo-small/pods/shop/store-0?tab=metrics",
    stable: false,
    ready: (page) => page.getByRole("slider", { name: "CPU" }).waitFor(),
  },
  {
    name: "manifest",
    path: "/clusters/demo-small/statefulsets/shop/store?tab=yaml",
    stable: false,
    ready: (page) => page.getByText("kind: StatefulSet").first().waitFor(),
  },
  {
    name: "history",
    path: "/clusters/demo-small/statefulsets/shop/store?tab=history",
    stable: false,
    ready: (page) => page.getByText("First recorded version").waitFor(),
  },
  {
    name: "history-of-a-kind-without-history",
    path: "/clusters/demo-small/pods/shop/store-0?tab=history",
    stable: false,
    ready: heading("No history of this kind"),
  },
  {
    name: "log",
    path: "/clusters/demo-small/pods/shop/store-0?tab=logs",
    stable: false,
    ready: (page) => page.getByRole("log", { name: "Log" }).getByText("[simulated]").first().waitFor(),
  },
  {
    name: "download-file",
    path: "/clusters/demo-small/pods/shop/store-0",
    stable: false,
    then: async (page) => {
      await chooseAction(page, "Download file…");
      await page.getByLabel("Path of the file or folder").fill("/etc/..");
    },
    ready: dialog("Download file Pod store-0"),
  },
  {
    name: "upload-file",
    path: "/clusters/demo-small/pods/shop/store-0",
    stable: false,
    then: async (page) => {
      await chooseAction(page, "Upload file…");
      const files = page.getByLabel("Files", { exact: true });
      await files.setInputFiles({ name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("a") });
    },
    ready: dialog("Upload file Pod store-0"),
  },
  { name: "logs-of-several-clusters", path: "/logs", ready: heading("No pods selected") },
  {
    name: "log-of-several-clusters",
    path: "/logs?clusters=demo-small,demo-large&namespace=shop&selector=app.kubernetes.io/name%3Dstore",
    stable: false,
    ready: (page) => page.getByRole("log", { name: "Log" }).getByText("[simulated]").first().waitFor(),
  },
  {
    name: "object-not-found",
    path: "/clusters/demo-small/pods/shop/nothing-like-this",
    ready: (page) => page.getByRole("heading", { name: /Pod nothing-like-this not found/ }).waitFor(),
  },
  { name: "kind-without-screen", path: "/clusters/demo-small/nothings", ready: heading("No page for nothings") },
  {
    name: "list-of-all-clusters",
    path: "/objects/statefulsets?clusters=demo-small",
    ready: (page) => page.getByRole("link", { name: "store" }).first().waitFor(),
  },
  {
    name: "problems",
    path: "/problems",
    stable: false,
    ready: (page) => page.getByRole("link", { name: "Pods", exact: true }).last().waitFor(),
  },
  { name: "cluster-not-found", path: "/clusters/nowhere", ready: heading("Cluster nowhere not found") },
  {
    name: "members-of-cluster",
    path: "/clusters/demo-small/members",
    stable: false,
    ready: (page) => page.getByRole("button", { name: "Grant role" }).waitFor(),
  },
  {
    name: "grant-role",
    path: "/clusters/demo-small/members",
    then: press("Grant role"),
    ready: dialog("Grant role in cluster demo-small"),
  },
  {
    name: "members-without-permission",
    path: "/clusters/demo-small/members",
    fakeResponse: {
      to: /\/v1\/clusters\/demo-small\/members/,
      code: 403,
      message: "your roles in this cluster do not allow you to list clusterroletemplatebindings: ask an owner or an administrator",
    },
    ready: heading("No permission to list members"),
  },
  { name: "kubeconfig", path: "/clusters/demo-small", then: press("Kubeconfig"), ready: dialog("Kubeconfig") },
  {
    name: "kubectl-shell",
    path: "/clusters/demo-small",
    then: (page) => chooseAction(page, "kubectl shell…"),
    ready: dialog("kubectl shell in demo-small"),
  },
  { name: "delete-cluster", path: "/clusters/demo-small", then: (page) => chooseAction(page, "Delete…"), ready: dialog("Delete cluster?") },
  { name: "import-form", path: "/import", ready: heading("Import cluster") },
  {
    name: "create-import-command",
    path: `/import?cluster=${WAITING}`,
    ready: (page) => page.getByRole("button", { name: "Create command" }).waitFor(),
  },
  {
    name: "import-command",
    path: `/import?cluster=${WAITING}`,
    then: press("Create command"),
    ready: heading("Status"),
  },
  {
    name: "about",
    path: "/about",
    // The tests sign many users in from one address.
    sharedAddress: null,
    ready: (page) => page.getByText("embedded, Kubernetes API").waitFor(),
  },
  {
    name: "about-with-a-shared-address",
    path: "/about",
    sharedAddress: { address: "192.0.2.7", users: 12 },
    ready: async (page) => {
      await page.getByText("12 users signed in from 192.0.2.7").waitFor();
      await page.getByText("embedded, Kubernetes API").waitFor();
    },
  },
  { name: "projects", path: "/projects", ready: heading("No projects yet") },
  { name: "create-project", path: "/projects", then: press("Create project"), ready: dialog("Create project") },
  { name: "project-not-found", path: "/projects/nowhere", ready: heading("Project nowhere not found") },
  { name: "roles", path: "/roles", stable: false, ready: (page) => page.getByRole("link", { name: "Cluster Owner" }).waitFor() },
  {
    name: "built-in-role",
    path: "/roles/project-member",
    stable: false,
    ready: heading("Effective permissions, including inherited roles"),
  },
  {
    name: "role-as-yaml",
    path: "/roles/project-member",
    stable: false,
    then: (page) => page.getByRole("tab", { name: "YAML" }).click(),
    ready: (page) => page.getByLabel("YAML", { exact: true }).waitFor(),
  },
  { name: "create-role", path: "/new-role", ready: heading("Create role") },
  {
    name: "discard-role-changes",
    path: "/new-role",
    then: async (page) => {
      await page.getByLabel("Name", { exact: true }).fill("half-a-role");
      await page.getByRole("link", { name: "Projects", exact: true }).click();
    },
    ready: dialog("Discard unsaved changes?"),
  },
  {
    name: "copy-role",
    path: "/new-role?copy=project-member",
    ready: heading("Namespaces of the project"),
  },
  { name: "global-role", path: "/global-roles/viewer", stable: false, ready: heading("Roles granted in all clusters") },
  { name: "role-not-found", path: "/roles/nowhere", ready: heading("Role nowhere not found") },
  { name: "global-members", path: "/global-members", ready: heading("No members") },
  { name: "check-access", path: "/access", ready: heading("Check access") },
  {
    name: "check-access-result",
    path: "/access?cluster=demo-small&verb=get&resource=pods",
    stable: false,
    ready: heading("admin is allowed to send this request"),
  },
  { name: "approve-cli-login", path: "/device", ready: heading("Approve a CLI login") },
  {
    name: "unknown-login-code",
    path: "/device",
    then: async (page) => {
      await page.getByLabel("Code", { exact: true }).fill("BCDF-GHJK");
      await page.getByRole("button", { name: "Show request" }).click();
    },
    ready: (page) => page.getByText(/with this code/i).waitFor(),
  },
  { name: "change-password", path: "/password", ready: heading("Change password") },
  { name: "page-not-found", path: "/no/such/place", ready: heading("Page not found") },
  {
    name: "palette",
    path: "/",
    then: async (page) => {
      await page.getByRole("row", { name: /demo-large/ }).waitFor();
      await page.keyboard.press("Control+k");
      await page.keyboard.type("demo-");
    },
    ready: (page) => page.getByRole("option", { name: "demo-large" }).first().waitFor(),
  },
  {
    name: "user-menu",
    path: "/about",
    then: (page) => page.getByRole("button", { name: /Account and theme$/ }).click(),
    ready: (page) => page.getByRole("menuitem", { name: "Change password" }).waitFor(),
  },
  {
    name: "sign-out-everywhere",
    path: "/about",
    then: (page) => chooseFromMenu(page, "Sign out everywhere…"),
    ready: dialog("Sign out everywhere?"),
  },
  { name: "kit-forms", path: "/kit", ready: heading("Fields") },
  { name: "kit-states", path: "/kit?part=states", ready: heading("Banners") },
  { name: "kit-table", path: "/kit?part=table", ready: (page) => page.getByRole("table", { name: "10,000 rows" }).waitFor() },
];

/** The screens that the tests open as a user without roles. */
export const SCREENS_WITHOUT_RIGHTS: readonly Screen[] = [
  { name: "no-clusters-for-user-without-roles", path: "/", ready: heading("No role in any cluster") },
  { name: "no-import-for-user-without-roles", path: "/import", ready: heading("No permission to import clusters") },
  { name: "cluster-not-found-for-user-without-roles", path: "/clusters/demo-small", ready: heading("Cluster demo-small not found") },
];
