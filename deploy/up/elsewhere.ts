import { existsSync } from 'node:fs'
import { addressesIn } from '#common/addresses.ts'
import { databaseUrls, joinDatabaseUrls } from '#common/db/database-url.ts'
import { Failure } from '#common/errors.ts'
import type { Layout } from '../deployment/layout.ts'
import { serversIn, type UpOptions } from '../deployment/options.ts'
import { plannedCellNames } from '../deployment/plan.ts'
import { loadState, type ServicesElsewhere } from '../deployment/state.ts'
import { dropDatabaseUser } from '../mariadb/database-user.ts'
import { takeKeys } from '../nats/nats-keys.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'
import { checkBus, readBusKeys } from './check-bus.ts'
import { checkDatabases } from './check-databases.ts'
import { cellDatabase } from './prepare-databases.ts'
import { databaseServersOf, rootUrlFile, writerOf } from './services.ts'

const SCHEMES: ReadonlySet<string> = new Set(['nats:', 'tls:'])
/** Where the password of `--database` may be: every user of the machine sees a command line. */
const PASSWORD = 'WEIR_DATABASE_PASSWORD'

/**
 * The services elsewhere that a new deployment is to use, found fit for it; undefined where all are private. Afterwards its
 * folder has the secrets with which they are used. Throws what `checkDatabases` and `checkBus` throw, and `invalid` for
 * options that do not go together.
 */
export async function elsewhereOf(
  layout: Layout,
  options: UpOptions,
): Promise<ServicesElsewhere | undefined> {
  const { database, bus, busKeys, busLeaf: leafUrl } = options
  if (bus === undefined && (busKeys !== undefined || leafUrl !== undefined))
    throw new Failure(
      'invalid',
      '--bus-keys and --bus-leaf belong to the servers of --bus, which is missing.',
    )
  if (database === undefined && bus === undefined) return undefined
  if (database !== undefined) await keepDatabases(layout, database, options)
  if (bus !== undefined) await keepBus(layout, bus, busKeys)
  return {
    ...(database !== undefined && { databases: serversIn(database) }),
    ...(bus !== undefined && { bus: { url: bus, ...(leafUrl !== undefined && { leafUrl }) } }),
  }
}

async function keepDatabases(layout: Layout, given: string, options: UpOptions): Promise<void> {
  const rootUrl = withPassword(given, process.env[PASSWORD])
  const cells = plannedCellNames(options).map(cellDatabase)
  await checkDatabases(rootUrl, ['weir', ...cells])
  writeFileAtomically(rootUrlFile(layout), rootUrl)
}

async function keepBus(layout: Layout, url: string, directory: string | undefined): Promise<void> {
  if (directory === undefined)
    throw new Failure(
      'invalid',
      '--bus needs --bus-keys DIRECTORY, with the keys that ./weir keys create DIRECTORY makes together with the nats.conf of its servers.',
    )
  for (const address of addressesIn(url)) assertBusAddress(address)
  const keys = readBusKeys(directory)
  await checkBus(url, keys)
  takeKeys(layout.nats, keys)
}

function assertBusAddress(address: string): void {
  const { protocol, hostname } = URL.canParse(address) ? new URL(address) : {}
  if (hostname !== undefined && hostname !== '' && SCHEMES.has(protocol ?? '')) return
  throw new Failure(
    'invalid',
    `--bus: ${address} is no address of a NATS server. Give nats://HOST:PORT, or tls://HOST:PORT for encryption.`,
  )
}

/** A password in the URL comes first. */
function withPassword(rootUrl: string, password: string | undefined): string {
  const [first, ...others] = databaseUrls(rootUrl).map((each) => {
    const url = new URL(each)
    if (url.password === '' && password !== undefined) url.password = password
    return url.href
  })
  return joinDatabaseUrls([first!, ...others])
}

/** Afterwards databases elsewhere have neither databases nor accounts of the deployment of this folder. */
export async function forgetElsewhere(layout: Layout): Promise<void> {
  const state = loadState(layout)
  if (state?.elsewhere?.databases === undefined || !existsSync(rootUrlFile(layout))) return
  const databases = databaseServersOf(layout, state)!
  const writer = await writerOf(databases)
  for (const name of ['weir', ...state.cells.map((cell) => cellDatabase(cell.name))])
    await dropDatabaseUser(writer, name, databases.loginsFrom)
}
