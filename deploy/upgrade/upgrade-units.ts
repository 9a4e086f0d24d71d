import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { findWriter } from '#common/db/cluster-nodes.ts'
import { databaseStatus } from '#common/db/database-status.ts'
import { databaseUrls } from '#common/db/database-url.ts'
import { migrateDatabase } from '#common/db/migrate.ts'
import type { Env } from '#common/env.ts'
import { Failure } from '#common/errors.ts'
import { type Session, signIn } from '../api/session.ts'
import { checkSettings } from '../config/check-settings.ts'
import { readEnvFile } from '../config/env-file.ts'
import { DEFAULT_DIRECTORIES, FILES } from '../control-plane/control-plane.ts'
import { countStuckAt } from '../doctor/examine-stuck.ts'
import type { Finding } from '../doctor/finding.ts'
import { projectRoot } from '../paths.ts'
import type { BackedUp } from '../upkeep/backup-file.ts'
import { type NamedDatabase, namedDatabase } from '../upkeep/named-database.ts'
import { sourceOfSettings } from '../upkeep/settings-source.ts'
import { backUp } from './back-up.ts'
import type { HealthSource } from './health.ts'
import { assertNothingBad, type UpgradeOptions } from './options.ts'
import { KINDS, type Kind } from './part.ts'
import { planLines, rollOut } from './roll-out.ts'
import { programUnits, unitState } from './systemd.ts'
import { UnitPart } from './unit-part.ts'

/** Not where `weir-backup` writes, which is another user's. */
const BACKUPS = '/var/backups/weir-upgrade'
const WRITER_LIMIT_MS = 10_000
const GATEWAY_PORT = '8774'

interface Unit {
  readonly part: UnitPart
  readonly settings: Env
  readonly settingsFiles: readonly string[]
}

/**
 * Afterwards every unit of a gateway, cell or compute that runs on this machine runs the release in its folder, and their
 * databases have its tables. Throws `not-found` where there is none, and `unavailable` at the first sign of trouble.
 */
export async function upgradeUnits(
  options: UpgradeOptions,
  report: (line: string) => void,
): Promise<void> {
  const units = await foundUnits()
  const files = units
    .filter(({ part }) => part.kind !== 'compute')
    .flatMap(({ settingsFiles }) => settingsFiles)
  const databases = files.map((file) => namedDatabase(file, {}))
  assertNothingBad(await examine(units, databases, options.isBack), report)
  const parts = units.map(({ part }) => part)
  if (options.isDryRun) {
    for (const line of planLines(parts, options.isBack)) report(line)
    return
  }
  const isBegun = parts.some((part) => part.code()?.isThis === true)
  if (options.backupDirectory !== false && !options.isBack && !isBegun) {
    const directory = resolve(options.backupDirectory ?? BACKUPS)
    await backUp(directory, await backedUpOf(files, report), report)
  }
  for (const { url, migrationsFolder } of databases) await migrateDatabase(url, migrationsFolder)
  await rollOut(
    {
      parts,
      health: await healthOf(units, databases),
      isBack: options.isBack,
      watchMs: options.watchMs,
      howBack: `To return to the former release, install it in ${projectRoot} again and run: ./weir upgrade run --units --back`,
    },
    report,
  )
}

/** Their databases, but for those of settings that name no file with their key, without which a backup is worth nothing. */
async function backedUpOf(
  files: readonly string[],
  report: (line: string) => void,
): Promise<readonly BackedUp[]> {
  const found: BackedUp[] = []
  for (const file of files)
    try {
      found.push(...(await sourceOfSettings([file], false)).databases)
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'invalid') throw error
      report(`note  Not backed up: ${error.message}`)
    }
  return found
}

async function foundUnits(): Promise<readonly Unit[]> {
  const names = await programUnits()
  if (names.length === 0)
    throw new Failure(
      'not-found',
      'No unit weir-gateway, weir-cell@NAME or weir-compute@NAME runs on this machine.',
    )
  return Promise.all(
    names.map(async (name) => {
      const state = await unitState(name)
      const { settingsFiles } = state
      const settings = Object.assign({}, ...settingsFiles.map(readEnvFile)) as Env
      const kind = kindOf(name)
      const origin = kind === 'gateway' ? originOf(settings) : undefined
      return { part: new UnitPart(name, kind, state, origin), settings, settingsFiles }
    }),
  )
}

function kindOf(unit: string): Kind {
  return KINDS.find((kind) => unit.startsWith(`weir-${kind}`)) ?? 'gateway'
}

function originOf({ GATEWAY_LISTEN_HOST: host = '127.0.0.1', GATEWAY_PORT: port }: Env): string {
  const address = ['0.0.0.0', '::', '*'].includes(host) ? '127.0.0.1' : host
  return `http://${address.includes(':') ? `[${address}]` : address}:${port ?? GATEWAY_PORT}`
}

/** Whether this release accepts the settings of the units, and knows the tables of their databases. */
async function examine(
  units: readonly Unit[],
  databases: readonly NamedDatabase[],
  isBack: boolean,
): Promise<readonly Finding[]> {
  const settings: Finding[] = []
  for (const { part, settings: env } of units)
    for (const { is, what } of await checkSettings(env, { isOffline: true }))
      if (is !== 'ok') settings.push({ is, what: `${part.name}: ${what}` })
  const tables = await Promise.all(
    databases.map(async ({ url, migrationsFolder }): Promise<Finding> => {
      const status = await databaseStatus(url, migrationsFolder)
      const { database, migrations, unknownMigrations: newer } = status
      if (migrations === undefined)
        return { is: 'bad', what: `no server of the database ${database} takes statements` }
      if (newer > 0)
        return isBack
          ? { is: 'note', what: `the database ${database} keeps the tables of the newer release` }
          : {
              is: 'bad',
              what: `the database ${database} was migrated by a newer release: to return from that, add --back`,
            }
      const due = migrations.pending.length
      if (due === 0) return { is: 'ok', what: `the database ${database} has every table` }
      return { is: 'note', what: `the database ${database} gets ${due} migrations` }
    }),
  )
  return [...settings, ...tables]
}

async function healthOf(
  units: readonly Unit[],
  databases: readonly NamedDatabase[],
): Promise<HealthSource> {
  const gateways = units.flatMap(({ part, settings }) =>
    part.kind === 'gateway' ? [originOf(settings)] : [],
  )
  return {
    admin: await adminAt(gateways[0]),
    gateways,
    countStuck: async () => {
      const counts = databases.map(async ({ kind, url }) =>
        countStuckAt(kind, await findWriter(databaseUrls(url), WRITER_LIMIT_MS)),
      )
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
    },
  }
}

/** The administrator in the clouds.yaml that `./weir init` wrote; undefined where there is no gateway, or no such file. */
async function adminAt(gateway: string | undefined): Promise<Session | undefined> {
  const file = join(DEFAULT_DIRECTORIES.directory, FILES.clouds)
  if (gateway === undefined || !existsSync(file)) return undefined
  const { clouds } = parse(readFileSync(file, 'utf8')) as {
    readonly clouds: Readonly<Record<string, { readonly auth: Readonly<Record<string, string>> }>>
  }
  const {
    username = '',
    password = '',
    project_name: projectName = '',
  } = clouds['weir-admin']?.auth ?? {}
  return signIn(gateway, { userName: username, password, projectName })
}
