// A certified OpenID provider over TLS for tests, controlled with lines of JSON on standard input.
//
// Usage: node server.mjs PATH-OF-OIDC-PROVIDER. The first line contains the settings, and each
// following line a command. The process answers each line with one line and exits at the end of
// standard input.

import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:https';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const library = pathToFileURL(process.argv[2]);
const { Provider } = await import(library);
const { default: MemoryAdapter } = await import(new URL('adapters/memory_adapter.js', library));
// The adapter is a class and not a name: with a name, each provider would create its own store.
class Memory extends MemoryAdapter {}

const person = (login, groups) => ({
  disabled: false,
  groups,
  name: `${login[0].toUpperCase()}${login.slice(1)}`,
  preferred_username: login,
  email: `${login}@example.com`,
  email_verified: true,
});
const users = new Map([
  ['ann', person('ann', ['team-a', 'Team B'])],
  ['bob', person('bob', ['team-b'])],
]);

let generation = 0;
const keys = (algorithm) => {
  generation += 1;
  const pairs = [
    generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    generateKeyPairSync('ed25519'),
  ];
  // RSA keys are created only if needed, because creating them is slow.
  if (/^[RP]S/.test(algorithm)) pairs.push(generateKeyPairSync('rsa', { modulusLength: 2048 }));
  return pairs.map(({ privateKey }, index) => ({
    ...privateKey.export({ format: 'jwk' }),
    kid: `key-${generation}-${index}`,
    use: 'sig',
  }));
};

// The keys of a provider are fixed when it is created. All providers share the stored users and
// sessions, so that a new provider with other keys continues the sessions of the previous one.
const provide = (issuer, settings) => {
  const provider = new Provider(issuer, {
    adapter: Memory,
    clients: [settings.client],
    clientAuthMethods: [settings.client.token_endpoint_auth_method],
    jwks: { keys: keys(settings.client.id_token_signed_response_alg) },
    // Browsers post the logout form from a page of another site (RP-Initiated Logout 1.0, section 2).
    enableHttpPostMethods: true,
    cookies: { keys: ['of a test'], long: { httpOnly: true, sameSite: 'none' } },
    conformIdTokenClaims: !settings.claimsInToken,
    claims: {
      openid: ['sub'],
      profile: ['name', 'preferred_username'],
      email: ['email', 'email_verified'],
      groups: ['groups'],
    },
    scopes: ['openid', 'offline_access', 'profile', 'email', 'groups'],
    enabledJWA: { idTokenSigningAlgValues: [settings.client.id_token_signed_response_alg] },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    features: {
      devInteractions: { enabled: true },
      revocation: { enabled: true },
      rpInitiatedLogout: { enabled: true },
    },
    findAccount: (_, sub) => {
      const found = users.get(sub);
      return found && !found.disabled
        ? { accountId: sub, claims: () => ({ sub, ...found }) }
        : undefined;
    },
    ttl: { AccessToken: 300, IdToken: 300, RefreshToken: 3600, Session: 3600, Grant: 3600, Interaction: 600 },
  });
  return provider.callback();
};

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const next = async () => {
  const { value, done } = await lines.next();
  return done ? undefined : JSON.parse(value);
};
const answer = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

const settings = await next();
let handle;
const server = createServer(
  { key: settings.key, cert: settings.certificate },
  (request, response) => handle(request, response),
);
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const issuer = `https://127.0.0.1:${server.address().port}`;
handle = provide(issuer, settings);
answer({ issuer });

for (let command = await next(); command; command = await next()) {
  if (command.rotate) handle = provide(issuer, settings);
  if (command.change) Object.assign(users.get(command.change), command.to);
  answer({ done: true });
}
process.exit(0);
