import { type Account, encodeAccount, encodeOperator } from '@nats-io/jwt'
import type { KeyPair } from '@nats-io/nkeys'
import { systemAccount } from '#gateway/bus/accounts.ts'
import type { CertificateFiles } from '#gateway/http/certificate.ts'
import { keyPair, type NatsKeys } from './nats-keys.ts'

/** Accounts one server keeps on disk: cells, the system's and the gateways'. */
const ACCOUNTS_MAX = 100_000
/** The largest wire message: a build request with the longest user data and personality Nova allows, with room. */
const PAYLOAD_MAX_BYTES = 4 * 1024 * 1024

/** Between two tries to reach the server above. */
const REDIAL_S = 1

/** Where a server listens. */
export interface NatsPorts {
  readonly port: number
  /** For servers of cells elsewhere. */
  readonly leafPort: number
  /** For computes of hosts elsewhere, at the exposed address only. */
  readonly hostPort: number
}

/** Another server that this one dials, for one account. */
export interface Uplink {
  readonly url: string
  /** What the other server lets it in with. */
  readonly credentialsFile: string
  /** Of this server, whose subjects reach the other one and the other way round. */
  readonly account: { readonly publicKey: string; readonly claims: Partial<Account> }
  /** Whom to believe that it is the other server; undefined where the connection is plain. */
  readonly caFile?: string | undefined
}

/** An address of this machine at which servers of cells, and computes of hosts, elsewhere are taken, over TLS. */
export interface Exposure extends CertificateFiles {
  readonly address: string
}

/** How a server and those of other machines reach each other: not at all where nothing is set. */
export interface NatsReach {
  readonly uplink?: Uplink | undefined
  readonly exposure?: Exposure | undefined
}

/**
 * The configuration of a private NATS in operator mode. Only the system account is in it; others are pushed and
 * kept by the server's own resolver, so adding a cell never rewrites this file.
 */
export async function natsConfig(
  directory: string,
  { port, leafPort, hostPort }: NatsPorts,
  keys: NatsKeys,
  { uplink, exposure }: NatsReach = {},
): Promise<string> {
  const operator = keyPair(keys.operatorSeed)
  const system = keyPair(keys.systemSeed).getPublicKey()
  const operatorJwt = await encodeOperator('weir', operator, { system_account: system })
  const systemJwt = await encodeAccount('system', system, systemAccount(), { signer: operator })
  return [
    'host: "127.0.0.1"',
    `port: ${port}`,
    ...leafnodes(leafPort, uplink, exposure),
    ...(exposure === undefined ? [] : websocket(hostPort, exposure)),
    'server_name: "weir"',
    `pid_file: ${JSON.stringify(`${directory}/nats.pid`)}`,
    `max_payload: ${PAYLOAD_MAX_BYTES}`,
    // A peer that vanished without closing is noticed in 15 s, if nothing is sent to it: what NATS 2.9 sends counts as a
    // sign of life. Whoever asks must therefore not rely on it to pass over a process that hangs.
    'ping_interval: "5s"',
    'ping_max: 2',
    `operator: ${operatorJwt}`,
    `system_account: ${system}`,
    'resolver: {',
    '  type: full',
    `  dir: ${JSON.stringify(`${directory}/accounts`)}`,
    '  allow_delete: true',
    '  interval: "2m"',
    `  limit: ${ACCOUNTS_MAX}`,
    '}',
    'resolver_preload: {',
    `  ${system}: ${systemJwt}`,
    ...(await preloaded(operator, uplink)),
    '}',
    '',
  ].join('\n')
}

function leafnodes(
  port: number,
  uplink: Uplink | undefined,
  exposure: Exposure | undefined,
): readonly string[] {
  if (uplink === undefined)
    return [
      'leafnodes {',
      `  host: ${JSON.stringify(exposure?.address ?? '127.0.0.1')}`,
      `  port: ${port}`,
      ...(exposure === undefined ? [] : [tlsBlock(exposure)]),
      '}',
    ]
  const { url, credentialsFile, account, caFile } = uplink
  return [
    'leafnodes {',
    `  reconnect: ${REDIAL_S}`,
    '  remotes: [ {',
    `    url: ${JSON.stringify(url)}`,
    `    account: ${account.publicKey}`,
    `    credentials: ${JSON.stringify(credentialsFile)}`,
    ...(caFile === undefined ? [] : [`    tls { ca_file: ${JSON.stringify(caFile)} }`]),
    '  } ]',
    '}',
  ]
}

/**
 * A second place for clients, since NATS has one address for them. A leaf node would not do for a host: NATS lets it not
 * answer what it was asked, as a client may with permission for responses alone.
 */
function websocket(port: number, exposure: Exposure): readonly string[] {
  return [
    'websocket {',
    `  host: ${JSON.stringify(exposure.address)}`,
    `  port: ${port}`,
    tlsBlock(exposure),
    '}',
  ]
}

function tlsBlock({ certificateFile, keyFile }: Exposure): string {
  const files = { cert_file: certificateFile, key_file: keyFile }
  const lines = Object.entries(files).map(([name, file]) => `${name}: ${JSON.stringify(file)}`)
  return `  tls { ${lines.join(', ')} }`
}

/** The account of an uplink must be there before the server starts. */
async function preloaded(signer: KeyPair, uplink: Uplink | undefined): Promise<readonly string[]> {
  if (uplink === undefined) return []
  const { publicKey, claims } = uplink.account
  return [`  ${publicKey}: ${await encodeAccount('cell', publicKey, claims, { signer })}`]
}
