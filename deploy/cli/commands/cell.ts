import { type Command, Option } from 'commander'
import { noun } from '#gateway/cli/noun.ts'
import { layoutIn } from '../../deployment/layout.ts'
import { lockDeployment } from '../../deployment/lock.ts'
import { LAUNCHED_DRIVERS, type LaunchedDriver } from '../../hypervisors/launched-driver.ts'
import { progress, say } from '../say.ts'
import { upTo } from '../up-to.ts'

const HOSTS_MAX = 64

export function addCellCommand(program: Command): void {
  const cell = noun(program, 'cell', 'units of scheduling and failure')
  addJoinCommand(cell)
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

interface JoinFlags {
  readonly gateway: string
  readonly token: string
  readonly driver: LaunchedDriver | 'auto'
  readonly hosts?: number
}

function addJoinCommand(cell: Command): void {
  cell
    .command('join')
    .description('make this folder a cell of the deployment that a join token is from')
    .requiredOption('--gateway <url>', 'of the deployment')
    .requiredOption('--token <token>', 'made there for this cell; good once')
    .addOption(
      new Option('--driver <name>', 'what servers run on')
        .choices(['auto', ...LAUNCHED_DRIVERS])
        .default('auto'),
    )
    .option('--hosts <n>', 'how many hosts (default: 2 simulated, or 1 of others)', upTo(HOSTS_MAX))
    .action(async (flags: JoinFlags) => {
      const { joinCell } = await import('../../join/join-cell.ts')
      const { describeCell } = await import('../describe-cell.ts')
      const layout = layoutIn()
      using _lock = lockDeployment(layout)
      const state = await joinCell(layout, flags, progress)
      for (const line of describeCell(layout, { state, what: 'created' })) say(line)
    })
}
