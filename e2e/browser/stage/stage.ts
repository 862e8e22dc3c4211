/** The parameters that the Rust test harness passes in environment variables. */

function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "") {
    throw new Error(`${name} is not set: start these tests with \`cargo test --test browser\``);
  }
  return value;
}

export const stage = {
  /** `https://host:port` of the server. */
  get url(): string {
    return variable("DROVER_TEST_URL");
  },
  /** The administrator's password. */
  get password(): string {
    return variable("DROVER_TEST_PASSWORD");
  },
  /** Fingerprint of the certificate authority, for `drover login --ca-fingerprint`. */
  get fingerprint(): string {
    return variable("DROVER_TEST_FINGERPRINT");
  },
  /** A temporary folder that the harness deletes after the tests. */
  get folder(): string {
    return variable("DROVER_TEST_FOLDER");
  },
  /** The folder of the programs `drover` and `drover-agent`. */
  get programs(): string {
    return variable("DROVER_TEST_PROGRAMS");
  },
  /** Path of the program kubectl. */
  get kubectl(): string {
    return variable("DROVER_TEST_KUBECTL");
  },
  /** Path of an administrator kubeconfig of the cluster that the tests import. */
  get kubeconfig(): string {
    return variable("DROVER_TEST_KUBECONFIG");
  },
  /** Paths of the certificate and the key of an API server at 127.0.0.1 that a test starts, PEM. */
  get hostileCertificate(): string {
    return variable("DROVER_TEST_HOSTILE_CERTIFICATE");
  },
  get hostileKey(): string {
    return variable("DROVER_TEST_HOSTILE_KEY");
  },
  /** Process ID of the server. */
  get serverProcess(): string {
    return variable("DROVER_TEST_SERVER_PROCESS");
  },
  /** A container image with a shell that is present on the node of the cluster. */
  get image(): string {
    return variable("DROVER_TEST_IMAGE");
  },
  /** A container image with kubectl and a shell that is present on the node of the cluster. */
  get kubectlImage(): string {
    return variable("DROVER_TEST_KUBECTL_IMAGE");
  },
  /** Issuer URL of an OpenID Connect provider that is not configured on the server yet. */
  get issuer(): string {
    return variable("DROVER_TEST_ISSUER");
  },
  /** Path of the CA certificate of the provider, PEM. */
  get issuerAuthority(): string {
    return variable("DROVER_TEST_ISSUER_AUTHORITY");
  },
  /** Client ID and client secret of Drover at the provider. */
  get clientId(): string {
    return variable("DROVER_TEST_CLIENT_ID");
  },
  get clientSecret(): string {
    return variable("DROVER_TEST_CLIENT_SECRET");
  },
  /** Folder for results: screenshots of failures, and measurements. */
  get results(): string {
    return variable("DROVER_TEST_RESULTS");
  },
};
