import { type Command, Option } from 'commander'
import type { DatabaseStatus, NodeStatus } from '#common/db/database-status.ts'
import { Failure } from '#common/errors.ts'
import { withExamples } from '#gateway/cli/examples.ts'
import type { Operator } from '#gateway/cli/operator.ts'
import { FORMATS, type Format } from '#gateway/cli/output/format.ts'
import { styleFor } from '#gateway/cli/output/style.ts'
import { type Listing, listView, rendered, type View } from '#gateway/cli/output/view.ts'
import { layoutIn } from '../../deployment/layout.ts'
import { existingState } from '../../deployment/state.ts'
import { say } from '../say.ts'

interface DatabaseFlags {
  readonly envFile?: string
}

interface StatusFlags extends DatabaseFlags {
  readonly output: Format
}

export function addDbCommand(program: Command, operator: Operator): void {
  const db = program.command('db').description('Maintain the databases')
  addPurgeCommand(db)
  withDatabase(db.command('migrate'), 'migrate')
    .description(
      'Create a database, or bring its tables to this release; several may do it at once',
    )
    .action(async ({ envFile }: DatabaseFlags) => {
      const { namedDatabase } = await import('../../upkeep/named-database.ts')
      const { migrateDatabase } = await import('#common/db/migrate.ts')
      const { databaseStatus } = await import('#common/db/database-status.ts')
      const { url, migrationsFolder } = namedDatabase(envFile, operator.env)
      await migrateDatabase(url, migrationsFolder)
      const { database, migrations } = await databaseStatus(url, migrationsFolder)
      say(`Database ${database} has all ${migrations?.applied.length} migrations of this release.`)
    })
  const format = new Option('-o, --output <format>', 'Output format')
  withDatabase(db.command('status'), 'status')
    .description(
      'Show the servers of a database, and its migrations; exit with 1 while any are pending or no server takes statements',
    )
    .addOption(format.choices([...FORMATS]).default('table'))
    .action(async ({ envFile, output }: StatusFlags) => {
      const { namedDatabase } = await import('../../upkeep/named-database.ts')
      const { databaseStatus } = await import('#common/db/database-status.ts')
      const { url, migrationsFolder } = namedDatabase(envFile, operator.env)
      const status = await databaseStatus(url, migrationsFolder)
      const style = styleFor(operator.out, operator.env)
      operator.out.write(await rendered(statusView(status), output, style))
      if (status.migrations === undefined || status.migrations.pending.length > 0)
        operator.endsAs('failed')
    })
}

function withDatabase(command: Command, verb: string): Command {
  return withExamples(command, `./weir db ${verb} --env-file /etc/weir/gateway.env`).option(
    '--env-file <file>',
    'File with GATEWAY_DATABASE_URL or CELL_DATABASE_URL (default: the environment)',
  )
}

const NODES: Listing<NodeStatus> = {
  columns: [
    { head: 'SERVER', of: ({ address }) => address },
    { head: 'NAME', of: ({ name }) => name ?? null },
    { head: 'STATE', of: ({ state }) => state },
    { head: 'REASON', of: ({ reason }) => reason ?? null },
  ],
  nameOf: ({ address }) => address,
  plural: 'servers',
}

function statusView(status: DatabaseStatus): View {
  const nodes = listView(status.nodes, NODES)
  const lines = linesOf(status)
  return {
    data: status,
    names: nodes.names,
    text: (isWide, style) =>
      [...lines.map((line) => `${line}\n`), nodes.text(isWide, style)].join(''),
  }
}

function linesOf({ database, migrations, unknownMigrations }: DatabaseStatus): readonly string[] {
  if (migrations === undefined)
    return [`Database ${database}: no server takes statements, so its migrations are not known.`]
  const { applied, pending } = migrations
  const count = `${applied.length} of ${applied.length + pending.length} migrations`
  return [
    pending.length === 0
      ? `Database ${database} has all ${applied.length} migrations of this release.`
      : `Database ${database} has ${count} of this release. Apply the others: ./weir db migrate`,
    ...(pending.length === 0 ? [] : [`Pending: ${pending.join(', ')}`]),
    ...(unknownMigrations === 0
      ? []
      : [`${unknownMigrations} more are of a newer release than this.`]),
  ]
}

const TABLE_WIDTH = 24
/** An hour: an operator with more rows to remove runs it again. */
const LIMIT_MS = 3_600_000

function addPurgeCommand(db: Command): void {
  db.command('purge')
    .description(
      'Delete records that are past their retention (GATEWAY_RETENTION_*, CELL_RETENTION_*)',
    )
    .option('--yes', 'Confirm: deleted records cannot be restored')
    .action(async ({ yes: isSure }: { readonly yes?: true }) => {
      const layout = layoutIn()
      const state = existingState(layout)
      if (isSure !== true)
        throw new Failure(
          'invalid',
          'History of deleted servers and old actions would be removed. Run: ./weir db purge --yes',
        )
      const { openDatabase } = await import('../../upkeep/open-database.ts')
      const { cellDatabase } = await import('../../up/prepare-databases.ts')
      const { purgeCell, purgeGateway } = await import('../../upkeep/purge-all.ts')
      const signal = AbortSignal.timeout(LIMIT_MS)
      if (state.gateways.length > 0) {
        await using global = openDatabase(layout, 'weir')
        report('global database', await purgeGateway(global, process.env, signal))
      }
      for (const { name } of state.cells) {
        await using database = openDatabase(layout, cellDatabase(name))
        report(`cell ${name}`, await purgeCell(database, process.env, signal))
      }
    })
}

function report(database: string, purged: Readonly<Record<string, number>>): void {
  say(database)
  for (const [table, rows] of Object.entries(purged)) say(`  ${table.padEnd(TABLE_WIDTH)} ${rows}`)
}
