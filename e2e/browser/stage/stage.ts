/** What the harness in Rust tells the tests: it starts the world, they look at it. */

function told(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "") {
    throw new Error(`${name} is not set: these tests are started by \`cargo test --test browser\``);
  }
  return value;
}

export const stage = {
  /** `https://host:port` of the server. */
  get url(): string {
    return told("DROVER_TEST_URL");
  },
  /** The administrator's password. */
  get password(): string {
    return told("DROVER_TEST_PASSWORD");
  },
  /** What `drover login --ca-fingerprint` wants. */
  get fingerprint(): string {
    return told("DROVER_TEST_FINGERPRINT");
  },
  /** A folder that goes with the world. */
  get folder(): string {
    return told("DROVER_TEST_FOLDER");
  },
  /** The folder of the programs `drover` and `drover-agent`. */
  get programs(): string {
    return told("DROVER_TEST_PROGRAMS");
  },
  /** The program kubectl. */
  get kubectl(): string {
    return told("DROVER_TEST_KUBECTL");
  },
  /** The kubeconfig of the owner of the cluster that is to be brought. */
  get kubeconfig(): string {
    return told("DROVER_TEST_KUBECONFIG");
  },
  /** An image that the cluster's node has, with a shell in it. */
  get image(): string {
    return told("DROVER_TEST_IMAGE");
  },
  /** URL of an identity provider (OpenID Connect) that the server does not know yet. */
  get issuer(): string {
    return told("DROVER_TEST_ISSUER");
  },
  /** File with the authority that vouches for it, PEM. */
  get issuerAuthority(): string {
    return told("DROVER_TEST_ISSUER_AUTHORITY");
  },
  /** As which the server is known there, and how it proves that. */
  get clientId(): string {
    return told("DROVER_TEST_CLIENT_ID");
  },
  get clientSecret(): string {
    return told("DROVER_TEST_CLIENT_SECRET");
  },
  /** Where what is left of a run goes: pictures of failures, figures. */
  get results(): string {
    return told("DROVER_TEST_RESULTS");
  },
};
