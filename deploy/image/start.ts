import { migrateDatabase } from '#common/db/migrate.ts'
import type { Env } from '#common/env.ts'
import { runProgram } from '#common/run-program.ts'
import { progress, say } from '../cli/say.ts'

const EXIT_USAGE = 2

/** What the image runs, by its first argument. Each reads its settings from the environment; a migration those of its program. */
const PROGRAMS: Readonly<Record<string, () => Promise<unknown>>> = {
  gateway: startGateway,
  cell: () => import('#cells/main.ts'),
  compute: () => import('#cells/compute/main.ts'),
  'bootstrap-gateway': () => runProgram(process.env, async () => ({ run: bootstrap })),
  'migrate-gateway': () => runProgram(process.env, async () => ({ run: migrateGateway })),
  'migrate-cell': () => runProgram(process.env, async () => ({ run: migrateCell })),
}

const [name = ''] = process.argv.slice(2)
const program = PROGRAMS[name]
if (program === undefined) {
  const known = Object.keys(PROGRAMS).join(', ')
  progress(`There is no program '${name}' in this image. Name one as its argument: ${known}.`)
  process.exitCode = EXIT_USAGE
} else await program()

async function startGateway(): Promise<void> {
  await runProgram(process.env, async () => ({ run: prepare }))
  if (process.exitCode === undefined) await import('#gateway/main.ts')
}

async function prepare(env: Env): Promise<void> {
  const { ensureGatewayCredentials } = await import('./gateway-credentials.ts')
  await ensureGatewayCredentials(env)
}

async function bootstrap(env: Env): Promise<void> {
  const { bootstrapGateway } = await import('./bootstrap-gateway.ts')
  await bootstrapGateway(env)
}

async function migrateGateway(env: Env): Promise<void> {
  const { configFromEnv } = await import('#gateway/config.ts')
  await migrateDatabase(configFromEnv(env).databaseUrl, 'gateway/db/migrations')
  say('The global database has every table of this release.')
}

async function migrateCell(env: Env): Promise<void> {
  const { configFromEnv } = await import('#cells/config.ts')
  const { cellName, databaseUrl } = configFromEnv(env)
  await migrateDatabase(databaseUrl, 'cells/db/migrations')
  say(`The database of cell ${cellName} has every table of this release.`)
}
