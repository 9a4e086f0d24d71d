import { existsSync } from 'node:fs'
import { type Account, decode } from '@nats-io/jwt'
import { type NatsConnection, TimeoutError } from '@nats-io/transport-node'
import { addressesIn } from '#common/addresses.ts'
import { errorChain, Failure, isFailure } from '#common/errors.ts'
import { gatewayAccount } from '#gateway/bus/accounts.ts'
import { pushAccount } from '#gateway/bus/push-account.ts'
import { connectSystem } from '../nats/connect-system.ts'
import { PAYLOAD_MAX_BYTES } from '../nats/nats-config.ts'
import {
  accountSeedFile,
  keyPair,
  type NatsKeys,
  natsKeys,
  operatorSeedFile,
} from '../nats/nats-keys.ts'

const OLDEST = [2, 9] as const
const ANSWER_LIMIT_MS = 1_000
/** In which every server answers that has a route to the one that is asked. */
const PING_MS = 500

/** The keys of a bus elsewhere. Throws `not-found` where the directory lacks one of them. */
export function readBusKeys(directory: string): NatsKeys {
  const files = [
    operatorSeedFile(directory),
    accountSeedFile(directory, 'system'),
    accountSeedFile(directory, 'gateway'),
  ]
  const missing = files.find((file) => !existsSync(file))
  if (missing !== undefined)
    throw new Failure(
      'not-found',
      `${missing} is missing. --bus-keys names the directory with the keys of the bus, which ./weir keys create DIRECTORY makes together with the settings of its servers.`,
    )
  return natsKeys(directory)
}

/**
 * Checks that a new deployment can have this bus: every server answers, obeys the operator of these keys, takes its accounts
 * and its messages, and is one bus with the others. Throws `unavailable`, `forbidden` or `unsupported` for a server that
 * does not, `invalid` for servers that are not one bus, and `conflict` where another deployment has cells on it.
 */
export async function checkBus(url: string, keys: NatsKeys): Promise<void> {
  const ids = new Map<string, string>()
  let present: ReadonlySet<string> = new Set()
  for (const server of addressesIn(url)) {
    const { host } = new URL(server)
    const system = await connected(server, host, keys)
    try {
      assertFit(system, host)
      await assertTakesAccounts(system, host, keys)
      ids.set(host, system.info?.server_id ?? '')
      present = await serversKnownTo(system)
    } finally {
      await system.close()
    }
  }
  const apart = [...ids].find(([, id]) => !present.has(id))
  if (apart !== undefined)
    throw new Failure(
      'invalid',
      `The NATS servers ${[...ids.keys()].join(', ')} are not one bus: the last one does not know ${apart[0]}. Make them one cluster.`,
    )
}

async function assertTakesAccounts(
  system: NatsConnection,
  host: string,
  { gatewaySeed, operatorSeed }: NatsKeys,
): Promise<void> {
  const key = keyPair(gatewaySeed).getPublicKey()
  try {
    const known = await claimsOf(system, key)
    if (known !== '' && (decode<Account>(known).nats.imports ?? []).length > 0)
      throw new Failure(
        'conflict',
        `The bus at ${host} has cells of another deployment. Each deployment needs keys and a bus of its own.`,
      )
    await pushAccount({ system, operatorSeed }, 'gateway', key, gatewayAccount([]))
  } catch (cause) {
    if (isFailure(cause, 'conflict')) throw cause
    throw new Failure(
      'unsupported',
      `The NATS server ${host} takes no accounts: ${errorChain(cause)}. It needs a resolver of type full, as in the nats.conf that ./weir keys create DIRECTORY writes.`,
      { cause },
    )
  }
}

/** '' where no server has the account: then none answers. */
async function claimsOf(system: NatsConnection, publicKey: string): Promise<string> {
  const subject = `$SYS.REQ.ACCOUNT.${publicKey}.CLAIMS.LOOKUP`
  try {
    return (await system.request(subject, '', { timeout: ANSWER_LIMIT_MS })).string()
  } catch (error) {
    if (error instanceof TimeoutError) return ''
    throw error
  }
}

/** The ids of the servers that this one has routes to, and its own. */
async function serversKnownTo(system: NatsConnection): Promise<ReadonlySet<string>> {
  const options = { strategy: 'timer', maxWait: PING_MS } as const
  const ids = new Set<string>()
  for await (const answer of await system.requestMany('$SYS.REQ.SERVER.PING', '', options))
    ids.add(answer.json<{ readonly server: { readonly id: string } }>().server.id)
  return ids
}

async function connected(server: string, host: string, keys: NatsKeys): Promise<NatsConnection> {
  try {
    return await connectSystem(server, keys.systemSeed)
  } catch (cause) {
    if (/authori[sz]ation|authentication/i.test(errorChain(cause)))
      throw new Failure(
        'forbidden',
        `The NATS server ${host} refuses the keys of --bus-keys: its operator or its system account is another. Start it with the nats.conf that ./weir keys create DIRECTORY writes, or name the keys that it was started with.`,
        { cause },
      )
    throw new Failure(
      'unavailable',
      `The NATS server ${host} does not answer: ${errorChain(cause)}. Start it, or name another one.`,
      { cause },
    )
  }
}

function assertFit({ info }: NatsConnection, host: string): void {
  const { version = '', max_payload: payload = 0 } = info ?? {}
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
    throw new Failure(
      'unsupported',
      `The NATS server ${host} is release ${version}. Weir needs ${OLDEST.join('.')} or later: upgrade it.`,
    )
  if (payload < PAYLOAD_MAX_BYTES)
    throw new Failure(
      'unsupported',
      `The NATS server ${host} takes messages of ${payload} bytes at most. Weir needs ${PAYLOAD_MAX_BYTES}: set max_payload: ${PAYLOAD_MAX_BYTES} and reload it.`,
    )
}
