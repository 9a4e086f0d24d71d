import { type Account, encodeAccount, encodeOperator } from '@nats-io/jwt'
import type { KeyPair } from '@nats-io/nkeys'
import { systemAccount } from '#gateway/bus/accounts.ts'
import {
  ACCOUNTS_EVERY_S,
  type Cluster,
  clusterLines,
  type NatsPorts,
  ownMember,
  type ServerTls,
  serverName,
  tlsLines,
} from './cluster.ts'
import { keyPair, type NatsKeys } from './nats-keys.ts'

/** Accounts one server keeps on disk: cells, the system's and the gateways'. */
const ACCOUNTS_MAX = 100_000
/** The largest wire message: a build request with the longest user data and personality Nova allows, with room. */
export const PAYLOAD_MAX_BYTES = 4 * 1024 * 1024

/** Between two tries to reach the server above. */
const REDIAL_S = 1
const LOOPBACK = '127.0.0.1'

/** What a server is part of: its own bus alone, a cluster, or a bus above it. */
export interface NatsOptions {
  /** Where a server that is in no cluster listens; absent: at loopback. */
  readonly address?: string | undefined
  readonly uplink?: Uplink | undefined
  readonly cluster?: Cluster | undefined
}

/** Another bus that this server dials, for one account, through what carries it there (`cells/uplink.ts`). */
export interface Uplink {
  /** Where the servers of the other bus take leaf nodes; absent: at `leafPort` of loopback. */
  readonly urls?: readonly string[]
  /** The credential with which it connects to the other bus. */
  readonly credentialsFile: string
  /** Of this server, whose subjects reach the other one and the other way round. */
  readonly account: { readonly publicKey: string; readonly claims: Partial<Account> }
}

/**
 * The configuration of a private NATS in operator mode, which listens on loopback only, or in a cluster at its member's
 * address: gateways relay connections from cells and hosts on other machines to it. It has no JetStream and no WebSocket, and only the system account. Other accounts are pushed
 * and kept by the server's own resolver, so adding a cell never rewrites this file.
 */
export async function natsConfig(
  directory: string,
  { port, leafPort }: NatsPorts,
  keys: NatsKeys,
  { address: own = LOOPBACK, uplink, cluster }: NatsOptions = {},
): Promise<string> {
  const address = cluster === undefined ? own : ownMember(cluster).address
  const operator = keyPair(keys.operatorSeed)
  const system = keyPair(keys.systemSeed).getPublicKey()
  const operatorJwt = await encodeOperator('weir', operator, { system_account: system })
  const systemJwt = await encodeAccount('system', system, systemAccount(), { signer: operator })
  return [
    `host: ${JSON.stringify(address)}`,
    `port: ${port}`,
    ...(cluster?.tls === undefined ? [] : tlsLines(cluster.tls, 'any')),
    ...leafnodes(address, leafPort, uplink, cluster?.tls),
    `server_name: "${serverName(keys, cluster)}"`,
    ...(cluster === undefined ? [] : clusterLines(keys, cluster)),
    `pid_file: ${JSON.stringify(`${directory}/nats.pid`)}`,
    `max_payload: ${PAYLOAD_MAX_BYTES}`,
    // A peer that vanished without closing is noticed in 3 s, if nothing is sent to it: NATS 2.9 counts its own messages
    // as a sign of life. A requester must therefore not rely on it to pass over a process that hangs.
    'ping_interval: "1s"',
    'ping_max: 2',
    `operator: ${operatorJwt}`,
    `system_account: ${system}`,
    'resolver: {',
    '  type: full',
    `  dir: ${JSON.stringify(`${directory}/accounts`)}`,
    '  allow_delete: true',
    `  interval: "${ACCOUNTS_EVERY_S}s"`,
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
  address: string,
  port: number,
  uplink: Uplink | undefined,
  tls: ServerTls | undefined,
): readonly string[] {
  if (uplink === undefined)
    return [
      'leafnodes {',
      `  host: ${JSON.stringify(address)}`,
      `  port: ${port}`,
      // The server tells each leaf node where else it could connect, which would be this port on the machine of the leaf
      // node. Nothing answers at port 1.
      '  advertise: "127.0.0.1:1"',
      ...(tls === undefined ? [] : tlsLines(tls, 'any')),
      '}',
    ]
  const { credentialsFile, account, urls = [`nats://${LOOPBACK}:${port}`] } = uplink
  return [
    'leafnodes {',
    `  reconnect: ${REDIAL_S}`,
    '  remotes: [ {',
    `    urls: ${JSON.stringify(urls)}`,
    `    account: ${account.publicKey}`,
    `    credentials: ${JSON.stringify(credentialsFile)}`,
    '  } ]',
    '}',
  ]
}

/** The account of an uplink must be there before the server starts. */
async function preloaded(signer: KeyPair, uplink: Uplink | undefined): Promise<readonly string[]> {
  if (uplink === undefined) return []
  const { publicKey, claims } = uplink.account
  return [`  ${publicKey}: ${await encodeAccount('cell', publicKey, claims, { signer })}`]
}
