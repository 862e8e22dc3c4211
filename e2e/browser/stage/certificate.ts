/** Reads the public key of the test server, so that Chromium can pin it. */

import { createHash, X509Certificate } from "node:crypto";
import { connect } from "node:tls";

/** Returns the base64 SHA-256 of the server's public key, for the switch of Chromium. */
export function presentedKey(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    // No request is sent: only the certificate is read.
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
      const certificate = new X509Certificate(socket.getPeerCertificate().raw);
      const key = certificate.publicKey.export({ type: "spki", format: "der" });
      socket.destroy();
      resolve(createHash("sha256").update(key).digest("base64"));
    });
    socket.setTimeout(10_000, () => socket.destroy(new Error(`${url} does not answer`)));
    socket.once("error", reject);
  });
}
