import { type Account, encodeAccount, encodeOperator } from '@nats-io/jwt'
import type { KeyPair } from '@nats-io/nkeys'
import { systemAccount } from '#gateway/bus/accounts.ts'
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
  /** For leaf nodes; of a server with an uplink the port where that is dialled. */
  readonly leafPort: number
}

/** Another server that this one dials, for one account, through what carries it there (`cells/uplink.ts`). */
export interface Uplink {
  /** The credential with which it connects to the other server. */
  readonly credentialsFile: string
  /** Of this server, whose subjects reach the other one and the other way round. */
  readonly account: { readonly publicKey: string; readonly claims: Partial<Account> }
}

/**
 * The configuration of a private NATS in operator mode, which listens on loopback only: gateways relay connections from
 * other machines to it. It has no JetStream and no WebSocket, and only the system account. Other accounts are pushed
 * and kept by the server's own resolver, so adding a cell never rewrites this file.
 */
export async function natsConfig(
  directory: string,
  { port, leafPort }: NatsPorts,
  keys: NatsKeys,
  uplink?: Uplink,
): Promise<string> {
  const operator = keyPair(keys.operatorSeed)
  const system = keyPair(keys.systemSeed).getPublicKey()
  const operatorJwt = await encodeOperator('weir', operator, { system_account: system })
  const systemJwt = await encodeAccount('system', system, systemAccount(), { signer: operator })
  return [
    'host: "127.0.0.1"',
    `port: ${port}`,
    ...leafnodes(leafPort, uplink),
    'server_name: "weir"',
    `pid_file: ${JSON.stringify(`${directory}/nats.pid`)}`,
    `max_payload: ${PAYLOAD_MAX_BYTES}`,
    // A peer that vanished without closing is noticed in 15 s, if nothing is sent to it: NATS 2.9 counts its own messages
    // as a sign of life. A requester must therefore not rely on it to pass over a process that hangs.
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

function leafnodes(port: number, uplink: Uplink | undefined): readonly string[] {
  if (uplink === undefined)
    return [
      'leafnodes {',
      '  host: "127.0.0.1"',
      `  port: ${port}`,
      // The server tells each leaf node where else it could connect, which would be this port on the machine of the leaf
      // node. Nothing answers at port 1.
      '  advertise: "127.0.0.1:1"',
      '}',
    ]
  const { credentialsFile, account } = uplink
  return [
    'leafnodes {',
    `  reconnect: ${REDIAL_S}`,
    '  remotes: [ {',
    `    url: "nats://127.0.0.1:${port}"`,
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
