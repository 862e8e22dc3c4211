/** Every screen and dialog, and how one comes there. */

import type { Page } from "@playwright/test";

import { WAITING } from "../stage/people.ts";
import { chooseFromMenu } from "../stage/test.ts";

/** A screen, or what opens over it. */
export interface Screen {
  /** What it is called, in tests and in the names of files. */
  readonly name: string;
  readonly path: string;
  /** Whether it shows the same in every run; how it reads is kept only then. */
  readonly steady?: false;
  /** What the way to a cluster is told to answer, where no cluster of the demonstration does. */
  readonly answers?: { readonly to: RegExp; readonly code: number; readonly message: string };
  /** The address that most users share, as the server tells administrators; null for none. */
  readonly sharedAddress?: { readonly address: string; readonly users: number } | null;
  /** What is done there before there is something to see. */
  readonly then?: (page: Page) => Promise<void>;
  /** Waits until everything is there. */
  readonly ready: (page: Page) => Promise<void>;
}

const heading = (name: string) => (page: Page) => page.getByRole("heading", { name, exact: true }).waitFor();
const dialog = (name: string) => (page: Page) => page.getByRole("dialog", { name }).waitFor();
const press = (name: string) => (page: Page) => page.getByRole("button", { name, exact: true }).click();

/** What the administrator sees. */
export const SCREENS: readonly Screen[] = [
  {
    name: "all-clusters",
    path: "/",
    ready: async (page) => {
      await page.getByRole("row", { name: /waiting for its manifest/ }).waitFor();
      await page.getByRole("row", { name: /demo-troubled/ }).getByText("3 / 4").waitFor();
    },
  },
  { name: "no-cluster-that-fits", path: "/?q=nothing-like-this", ready: heading("No results") },
  {
    name: "a-cluster",
    path: "/clusters/demo-troubled",
    ready: (page) => page.getByText("3 of 4 ready").waitFor(),
  },
  {
    name: "a-cluster-that-waits",
    path: `/clusters/${WAITING}`,
    ready: (page) => page.getByRole("link", { name: "Show import command" }).waitFor(),
  },
  {
    name: "a-list-of-nodes",
    path: "/clusters/demo-small/nodes",
    ready: (page) => page.getByRole("link", { name: "simulated-worker-2" }).waitFor(),
  },
  {
    name: "a-list-of-workloads",
    path: "/clusters/demo-small/statefulsets",
    ready: (page) => page.getByRole("link", { name: "store" }).waitFor(),
  },
  {
    name: "a-list-of-pods-with-troubles",
    path: "/clusters/demo-troubled/pods",
    steady: false,
    ready: (page) => page.getByText("CrashLoopBackOff").first().waitFor(),
  },
  {
    name: "a-timeline-of-events",
    path: "/clusters/demo-troubled/events",
    steady: false,
    ready: (page) => page.getByText("FailedScheduling").first().waitFor(),
  },
  {
    name: "a-list-of-nothing-that-fits",
    path: "/clusters/demo-small/pods?q=nothing-like-this",
    steady: false,
    ready: (page) => page.getByText("Remove words", { exact: false }).waitFor(),
  },
  {
    name: "a-list-of-a-cluster-that-waits",
    path: `/clusters/${WAITING}/pods`,
    ready: heading(`Cannot reach ${WAITING}: waiting for its manifest`),
  },
  {
    name: "a-list-that-is-refused",
    path: "/clusters/demo-small/pods",
    answers: { to: /demo-small\/api\/v1\/pods/, code: 403, message: 'pods is forbidden: User "drover:u-1" cannot list resource "pods"' },
    ready: heading("No permission to list Pods in all namespaces of demo-small"),
  },
  {
    name: "a-list-of-a-kind-that-is-not-served",
    path: "/clusters/demo-small/cronjobs",
    answers: { to: /demo-small\/apis\/batch\/v1\/cronjobs/, code: 404, message: "the server could not find the requested resource" },
    ready: heading("demo-small does not serve CronJobs"),
  },
  {
    name: "tokens",
    path: "/tokens",
    steady: false,
    ready: (page) => page.getByText("this session").waitFor(),
  },
  { name: "a-new-token", path: "/tokens", then: press("Create token"), ready: dialog("Create token") },
  { name: "users", path: "/users", steady: false, ready: (page) => page.getByText("you", { exact: true }).waitFor() },
  {
    name: "a-user",
    path: "/users/admin",
    steady: false,
    ready: (page) => page.getByRole("heading", { name: "Sign-in method" }).waitFor(),
  },
  {
    name: "an-identity-to-link",
    path: "/users/admin",
    then: press("Link identity…"),
    ready: dialog("Link identity to admin"),
  },
  { name: "a-user-that-is-not-there", path: "/users/nobody", ready: heading("User nobody not found") },
  { name: "a-new-user", path: "/users", then: press("Create user"), ready: dialog("Create user") },
  { name: "identity-providers", path: "/providers", ready: heading("No identity providers yet") },
  {
    name: "a-new-identity-provider",
    path: "/providers",
    then: press("Create identity provider"),
    ready: dialog("Create identity provider"),
  },
  {
    name: "a-new-directory",
    path: "/providers?do=create",
    then: async (page) => {
      await page.getByLabel("Protocol").selectOption("ldap");
    },
    ready: (page) => page.getByLabel("User base DN").waitFor(),
  },
  {
    name: "an-identity-provider-that-is-not-there",
    path: "/providers/nowhere",
    ready: heading("Identity provider nowhere not found"),
  },
  {
    name: "the-audit-log",
    path: "/audit",
    steady: false,
    ready: (page) => page.getByRole("table", { name: "Audit log" }).waitFor(),
  },
  {
    name: "a-record-of-the-audit-log",
    path: "/audit",
    steady: false,
    then: (page) => page.getByRole("table", { name: "Audit log" }).locator("tbody button").first().click(),
    ready: dialog("Record"),
  },
  {
    name: "no-record-of-the-audit-log-that-fits",
    path: "/audit?user=nobody-like-this",
    steady: false,
    ready: heading("No results"),
  },
  { name: "settings", path: "/settings", ready: (page) => page.getByText("session-idle-ttl", { exact: true }).waitFor() },
  {
    name: "a-setting-that-is-changed",
    path: "/settings",
    then: (page) => page.getByRole("button", { name: /Edit session-idle-ttl/ }).click(),
    ready: dialog("Edit setting"),
  },
  {
    name: "a-pod",
    path: "/clusters/demo-small/pods/shop/store-0",
    steady: false,
    ready: (page) => page.getByRole("heading", { name: "Containers" }).waitFor(),
  },
  {
    name: "a-workload",
    path: "/clusters/demo-small/statefulsets/shop/store",
    ready: (page) => page.getByRole("link", { name: "store-0" }).waitFor(),
  },
  {
    name: "what-was-noticed-of-an-object",
    path: "/clusters/demo-small/pods/shop/store-0?tab=events",
    steady: false,
    ready: (page) => page.getByRole("tabpanel").getByText(/Scheduled|No events/).first().waitFor(),
  },
  {
    name: "a-manifest",
    path: "/clusters/demo-small/statefulsets/shop/store?tab=yaml",
    steady: false,
    ready: (page) => page.getByText("kind: StatefulSet").first().waitFor(),
  },
  {
    name: "a-log",
    path: "/clusters/demo-small/pods/shop/store-0?tab=logs",
    steady: false,
    ready: (page) => page.getByRole("log", { name: "Log" }).getByText("[simulated]").first().waitFor(),
  },
  {
    name: "an-object-that-is-not-there",
    path: "/clusters/demo-small/pods/shop/nothing-like-this",
    ready: (page) => page.getByRole("heading", { name: /Pod nothing-like-this not found/ }).waitFor(),
  },
  { name: "a-kind-without-a-screen", path: "/clusters/demo-small/secrets", ready: heading("No screen for secrets") },
  { name: "a-cluster-that-is-not-there", path: "/clusters/nowhere", ready: heading("Cluster nowhere not found") },
  {
    name: "members-of-a-cluster",
    path: "/clusters/demo-small/members",
    steady: false,
    ready: (page) => page.getByRole("button", { name: "Grant role" }).waitFor(),
  },
  {
    name: "a-role-to-give",
    path: "/clusters/demo-small/members",
    then: press("Grant role"),
    ready: dialog("Grant role in cluster demo-small"),
  },
  {
    name: "members-that-are-refused",
    path: "/clusters/demo-small/members",
    answers: {
      to: /\/v1\/clusters\/demo-small\/members/,
      code: 403,
      message: "your roles in this cluster do not let you list clusterroletemplatebindings: ask an owner or an administrator",
    },
    ready: heading("No permission to list members"),
  },
  { name: "a-kubeconfig", path: "/clusters/demo-small", then: press("Kubeconfig"), ready: dialog("Kubeconfig") },
  { name: "a-clusters-deletion", path: "/clusters/demo-small", then: press("Delete…"), ready: dialog("Delete cluster?") },
  { name: "the-import-form", path: "/import", ready: heading("Import cluster") },
  {
    name: "an-import-command-to-create",
    path: `/import?cluster=${WAITING}`,
    ready: (page) => page.getByRole("button", { name: "Create command" }).waitFor(),
  },
  {
    name: "the-import-command",
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
  { name: "a-new-project", path: "/projects", then: press("Create project"), ready: dialog("Create project") },
  { name: "a-project-that-is-not-there", path: "/projects/nowhere", ready: heading("Project nowhere not found") },
  { name: "roles", path: "/roles", steady: false, ready: (page) => page.getByRole("link", { name: "Cluster Owner" }).waitFor() },
  {
    name: "a-role-of-the-start",
    path: "/roles/project-member",
    steady: false,
    ready: heading("Effective permissions, including inherited roles"),
  },
  {
    name: "a-role-as-yaml",
    path: "/roles/project-member",
    steady: false,
    then: (page) => page.getByRole("tab", { name: "YAML" }).click(),
    ready: (page) => page.getByLabel("YAML", { exact: true }).waitFor(),
  },
  { name: "a-new-role", path: "/new-role", ready: heading("Create role") },
  {
    name: "leaving-a-changed-role",
    path: "/new-role",
    then: async (page) => {
      await page.getByLabel("Name", { exact: true }).fill("half-a-role");
      await page.getByRole("link", { name: "Projects", exact: true }).click();
    },
    ready: dialog("Discard unsaved changes?"),
  },
  {
    name: "a-copy-of-a-role",
    path: "/new-role?copy=project-member",
    ready: heading("Namespaces of the project"),
  },
  { name: "a-global-role", path: "/global-roles/viewer", steady: false, ready: heading("Roles granted in all clusters") },
  { name: "a-role-that-is-not-there", path: "/roles/nowhere", ready: heading("Role nowhere not found") },
  { name: "members-everywhere", path: "/global-members", ready: heading("No members") },
  { name: "who-can-do-what", path: "/access", ready: heading("Check access") },
  {
    name: "who-can-read-pods",
    path: "/access?cluster=demo-small&verb=get&resource=pods",
    steady: false,
    ready: heading("admin is allowed to do this"),
  },
  { name: "a-log-in-to-confirm", path: "/device", ready: heading("Approve a CLI login") },
  {
    name: "a-log-in-that-nobody-began",
    path: "/device",
    then: async (page) => {
      await page.getByLabel("Code", { exact: true }).fill("BCDF-GHJK");
      await page.getByRole("button", { name: "Show request" }).click();
    },
    ready: (page) => page.getByText("No log-in with this code waits", { exact: false }).waitFor(),
  },
  { name: "change-of-password", path: "/password", ready: heading("Change password") },
  { name: "nothing-at-this-address", path: "/no/such/place", ready: heading("Page not found") },
  {
    name: "the-palette",
    path: "/",
    then: async (page) => {
      await page.getByRole("row", { name: /demo-large/ }).waitFor();
      await page.keyboard.press("Control+k");
      await page.keyboard.type("demo-");
    },
    ready: (page) => page.getByRole("option", { name: "demo-large" }).waitFor(),
  },
  {
    name: "the-persons-menu",
    path: "/about",
    then: (page) => page.getByRole("button", { name: /Account and theme$/ }).click(),
    ready: (page) => page.getByRole("menuitem", { name: "Change password" }).waitFor(),
  },
  {
    name: "signing-out-everywhere",
    path: "/about",
    then: (page) => chooseFromMenu(page, "Sign out everywhere…"),
    ready: dialog("Sign out everywhere?"),
  },
  { name: "kit-forms", path: "/kit", ready: heading("Fields") },
  { name: "kit-words", path: "/kit?part=words", ready: heading("Banners") },
  { name: "kit-rows", path: "/kit?part=rows", ready: (page) => page.getByRole("table", { name: "Ten thousand rows" }).waitFor() },
];

/** What somebody without rights sees. */
export const SCREENS_WITHOUT_RIGHTS: readonly Screen[] = [
  { name: "no-clusters-for-a-visitor", path: "/", ready: heading("No role in any cluster") },
  { name: "no-import-for-a-visitor", path: "/import", ready: heading("No permission to import clusters") },
  { name: "no-cluster-for-a-visitor", path: "/clusters/demo-small", ready: heading("Cluster demo-small not found") },
];
