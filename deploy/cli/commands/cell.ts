import type { Command } from 'commander'
import { layoutIn } from '../../deployment/layout.ts'
import { say } from '../say.ts'
import { addCloudCommands } from './cell-cloud.ts'

export function addCellCommand(program: Command): void {
  const cell = program.command('cell').description('the cells of the deployment')
  addCloudCommands(cell)
  cell
    .command('resync')
    .argument('<name>')
    .description('have what the gateways show of a cell rebuilt from a full copy of it')
    .action(async (name: string) => {
      const { openDatabase } = await import('../../upkeep/open-database.ts')
      const { resyncCell } = await import('#gateway/cells/resync-cell.ts')
      await using db = openDatabase(layoutIn(), 'weir')
      await resyncCell(db, name)
      say(`A gateway reads a full copy of ${name} as soon as it hears it.`)
    })
}
