import { encodeAccount, encodeOperator } from '@nats-io/jwt'
import { systemAccount } from '#gateway/bus/accounts.ts'
import { keyPair, type NatsKeys } from './nats-keys.ts'

/** Accounts one server keeps on disk: cells, the system's and the gateways'. */
const ACCOUNTS_MAX = 100_000
/** The largest wire message: a build request with the longest user data and personality Nova allows, with room. */
const PAYLOAD_MAX_BYTES = 4 * 1024 * 1024

/** Where a server listens. */
export interface NatsPorts {
  readonly port: number
  /** For servers of cells elsewhere. */
  readonly leafPort: number
}

/**
 * The configuration of a private NATS in operator mode. Only the system account is in it; others are pushed and
 * kept by the server's own resolver, so adding a cell never rewrites this file.
 */
export async function natsConfig(
  directory: string,
  { port, leafPort }: NatsPorts,
  keys: NatsKeys,
): Promise<string> {
  const operator = keyPair(keys.operatorSeed)
  const system = keyPair(keys.systemSeed).getPublicKey()
  const operatorJwt = await encodeOperator('weir', operator, { system_account: system })
  const systemJwt = await encodeAccount('system', system, systemAccount(), { signer: operator })
  return [
    'host: "127.0.0.1"',
    `port: ${port}`,
    `leafnodes { host: "127.0.0.1", port: ${leafPort} }`,
    'server_name: "weir"',
    `pid_file: ${JSON.stringify(`${directory}/nats.pid`)}`,
    `max_payload: ${PAYLOAD_MAX_BYTES}`,
    // A process that hangs is out of its queue group in 15 s: until then it is handed its share of the requests.
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
    '}',
    '',
  ].join('\n')
}
