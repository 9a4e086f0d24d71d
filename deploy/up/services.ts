import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findWriter } from '#common/db/cluster-nodes.ts'
import { databaseUrls, joinDatabaseUrls, withDatabase } from '#common/db/database-url.ts'
import type { Layout } from '../deployment/layout.ts'
import type { ServicesElsewhere } from '../deployment/state.ts'
import { type Mariadb, runningMariadb, startMariadb } from '../mariadb.ts'
import { type NatsKeys, natsKeys, operatorSeedFile } from '../nats/nats-keys.ts'
import { type Nats, runningNats, startNats } from '../nats.ts'

/** The database servers of a deployment, private or of somebody else. */
export interface Databases {
  /** Of an account that may create databases and accounts, with all servers. */
  rootUrl(database?: string): string
  /** With which an account opens the database of its name. */
  ownUrl(database: string, password: string): string
  /** The pattern of addresses from which accounts log in. */
  readonly loginsFrom: string
}

/** The bus of a deployment, private or of somebody else. */
export interface Bus {
  /** Of each server, with commas between them. */
  readonly url: string
  /** Where it takes leaf nodes; undefined: joined cells find no way to it. */
  readonly leafUrl: string | undefined
  readonly keys: NatsKeys
  readonly operatorSeedFile: string
}

const WRITER_WAIT_MS = 30_000

interface Place {
  readonly elsewhere?: ServicesElsewhere | undefined
}

/** Afterwards the private services run that the deployment has; those elsewhere are left as they are. */
export async function startServices(
  layout: Layout,
  { elsewhere }: Place,
  progress: (line: string) => void,
): Promise<{ readonly databases: Databases; readonly bus: Bus }> {
  const own = [
    ...(elsewhere?.databases === undefined ? ['MariaDB'] : []),
    ...(elsewhere?.bus === undefined ? ['NATS'] : []),
  ]
  if (own.length > 0) progress(`Starting ${own.join(' and ')} ...`)
  const [databases, bus] = await Promise.all([
    elsewhere?.databases === undefined
      ? startMariadb(layout.mariadb, 'detached').then(privateDatabases)
      : databasesElsewhere(layout),
    elsewhere?.bus === undefined
      ? startNats(layout.nats, 'detached').then(privateBus)
      : busElsewhere(layout, elsewhere.bus),
  ])
  return { databases, bus }
}

/** The databases of the deployment; undefined for private ones that do not run. */
export function databaseServersOf(layout: Layout, { elsewhere }: Place): Databases | undefined {
  if (elsewhere?.databases !== undefined) return databasesElsewhere(layout)
  const mariadb = runningMariadb(layout.mariadb)
  return mariadb && privateDatabases(mariadb)
}

/** The bus of the deployment; undefined for a private one that does not run. */
export function busOf(layout: Layout, { elsewhere }: Place): Bus | undefined {
  if (elsewhere?.bus !== undefined) return busElsewhere(layout, elsewhere.bus)
  const nats = runningNats(layout.nats)
  return nats && privateBus(nats)
}

/** The URL of the server that takes statements. Throws `unavailable` where none does. */
export function writerOf(databases: Databases): Promise<string> {
  return findWriter(databaseUrls(databases.rootUrl()), WRITER_WAIT_MS)
}

/** The file with the URL of databases elsewhere, whose account may create others. */
export function rootUrlFile(layout: Pick<Layout, 'secrets'>): string {
  return join(layout.secrets, 'database-root.url')
}

export function privateDatabases(mariadb: Mariadb): Databases {
  return {
    rootUrl: (database) => mariadb.rootUrl(database),
    ownUrl: (database, password) =>
      `mysql://${database}:${password}@127.0.0.1:${mariadb.port}/${database}`,
    loginsFrom: '127.0.0.1',
  }
}

export function privateBus(nats: Nats): Bus {
  return { ...nats, leafUrl: `nats://127.0.0.1:${nats.leafPort}` }
}

function databasesElsewhere(layout: Layout): Databases {
  const root = readFileSync(rootUrlFile(layout), 'utf8').trim()
  return {
    rootUrl: (database = '') => withDatabase(root, database),
    ownUrl: (database, password) => withAccount(root, database, password),
    loginsFrom: '%',
  }
}

function withAccount(root: string, database: string, password: string): string {
  const [first, ...others] = databaseUrls(root).map((each) => {
    const url = new URL(each)
    url.username = database
    url.password = password
    url.pathname = database
    return url.href
  })
  return joinDatabaseUrls([first!, ...others])
}

function busElsewhere(
  layout: Layout,
  { url, leafUrl }: NonNullable<ServicesElsewhere['bus']>,
): Bus {
  return {
    url,
    leafUrl,
    keys: natsKeys(layout.nats),
    operatorSeedFile: operatorSeedFile(layout.nats),
  }
}
