import start from "{{script}}";

// The chunks of the screens, by the first segment of the path.
const clusters = {{clusters}};
const administration = {{administration}};
const account = {{account}};
const CHUNKS = {
  clusters,
  projects: administration,
  roles: administration,
  "global-roles": administration,
  "new-role": administration,
  "new-global-role": administration,
  "global-members": administration,
  access: administration,
  users: administration,
  providers: administration,
  audit: administration,
  settings: administration,
  import: account,
  tokens: account,
  about: account,
  device: account,
  password: account,
  kit: account,
};

const HUB_CLUSTERS = "/k8s/clusters/local/apis/management.drover.dev/v1alpha1/clusters?limit=100";

// The first requests of the program, which the page sends while the browser compiles the program. The program
// takes the response of a path (fetch.rs), and reports errors.
const requests = {};
window.droverRequests = requests;

function request(path) {
  const signal = AbortSignal.timeout(30_000);
  requests[path] = fetch(path, { cache: "no-store", redirect: "error", headers: { Accept: "application/json" }, signal });
  requests[path].catch(() => {});
  return requests[path];
}

// The modules that the program loads when a user needs them.
window.droverModules = {
  editor: () => import("{{editor}}"),
  terminal: () => import("{{terminal}}"),
};

async function prepareFirstScreen() {
  const session = await request("/v1/session");
  // Without a session, the first screen is the sign-in page.
  if (!session.ok) return;
  for (const href of CHUNKS[location.pathname.split("/")[1]] ?? []) {
    const link = document.createElement("link");
    document.head.append(Object.assign(link, { rel: "preload", as: "fetch", type: "application/wasm", crossOrigin: "anonymous", href }));
  }
  const { me } = await session.clone().json();
  if (me.mustChangePassword) return;
  request(me.administrator ? HUB_CLUSTERS : "/v1/clusters");
  request("/v1/preferences");
}

prepareFirstScreen().catch(() => {});

start({ module_or_path: "{{program}}" }).catch((error) => {
  console.error(error);
  document.getElementById("starting-text").textContent =
    document.documentElement.lang === "de"
      ? "Die Seite kann nicht gestartet werden. Die Seite neu laden. Wenn der Fehler bleibt, einen Browser mit WebAssembly verwenden."
      : "Cannot start the page. Reload it. If the error remains, use a browser with WebAssembly.";
});
