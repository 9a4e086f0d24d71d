import type { Command } from 'commander'
import { Failure } from '#common/errors.ts'
import { layoutIn } from '../../deployment/layout.ts'
import { existingState } from '../../deployment/state.ts'
import { say } from '../say.ts'

const TABLE_WIDTH = 24
/** An hour: an operator with more rows to remove runs it again. */
const LIMIT_MS = 3_600_000

export function addDbCommand(program: Command): void {
  const db = program.command('db').description('Maintain the databases')
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
