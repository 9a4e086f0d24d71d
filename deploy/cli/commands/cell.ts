import { type Command, Option } from 'commander'
import { Failure } from '#common/errors.ts'
import { withExamples } from '#gateway/cli/examples.ts'
import { noun } from '#gateway/cli/noun.ts'
import type { Operator } from '#gateway/cli/operator.ts'
import { layoutIn } from '../../deployment/layout.ts'
import { lockDeployment } from '../../deployment/lock.ts'
import { LAUNCHED_DRIVERS, type LaunchedDriver } from '../../hypervisors/launched-driver.ts'
import { readJoinTokenOption } from '../read-secret.ts'
import { progress, say } from '../say.ts'
import { upTo } from '../up-to.ts'
import {
  addCloudCommands,
  type CloudFlags,
  joinNested,
  withMaps,
  withSettings,
} from './cell-cloud.ts'

const HOSTS_MAX = 64

export function addCellCommand(program: Command, operator: Operator): void {
  const cell = noun(program, 'cell', 'Manage cells, the sites that schedule and run servers')
  addJoinCommand(cell, operator)
  addCloudCommands(cell, operator)
  cell
    .command('resync')
    .argument('<name>')
    .description('Rebuild what the gateways show of a cell from a full copy')
    .action(async (name: string) => {
      const { openDatabase } = await import('../../upkeep/open-database.ts')
      const { resyncCell } = await import('#gateway/app/cells/resync-cell.ts')
      await using db = openDatabase(layoutIn(), 'weir')
      await resyncCell(db, name)
      say(`The gateways read a full copy of cell ${name} as soon as the cell is reachable.`)
    })
}

interface JoinFlags extends Partial<CloudFlags> {
  readonly gateway?: string
  readonly tokenFile?: string
  readonly driver: LaunchedDriver | 'auto' | 'nested'
  readonly hosts?: number
}

function addJoinCommand(cell: Command, operator: Operator): void {
  withMaps(
    withSettings(
      withExamples(
        cell.command('join [name]'),
        './weir cell join --gateway https://cloud.example:8774 --token-file FILE --driver libvirt',
        './weir cell join --gateway URL --token-file FILE --driver baremetal --set boot_url=http://192.0.2.1:8480',
        './weir cell join lab --driver nested --cloud lab --set projects=any --map flavor:m1.small=c2',
      ),
    ),
  )
    .description('Join another deployment as a cell, or add a cloud to this one as a cell')
    .option('--gateway <url>', 'Gateway of the deployment that issued the join token')
    .option(
      '--token-file <file>',
      'File with the one-time join token; - reads standard input (default: $WEIR_JOIN_TOKEN)',
    )
    .addOption(
      new Option('--driver <name>', 'Backend that servers run on; nested: a cloud of clouds.yaml')
        .choices(['auto', ...LAUNCHED_DRIVERS, 'nested'])
        .default('auto'),
    )
    .option(
      '--hosts <n>',
      'Number of hosts (default: 2 simulated, or 1 of others)',
      upTo(HOSTS_MAX),
    )
    .option('--cloud <name>', 'Entry of clouds.yaml')
    .action(async (name: string | undefined, flags: JoinFlags) => {
      if (flags.driver === 'nested')
        return joinNested(operator, given(name, '<name>'), {
          cloud: given(flags.cloud, '--cloud'),
          set: flags.set ?? {},
          map: flags.map ?? [],
        })
      if (flags.map !== undefined && flags.map.length > 0)
        throw new Failure('invalid', '--map is for cells of the driver nested.')
      const { joinCell } = await import('../../join/join-cell.ts')
      const { describeCell } = await import('../describe-cell.ts')
      const { superviseDeployment } = await import('../../supervisor/supervision.ts')
      const asked = {
        gateway: given(flags.gateway, '--gateway'),
        token: await readJoinTokenOption(flags.tokenFile, operator.env),
        driver: flags.driver,
        ...(flags.hosts === undefined ? {} : { hosts: flags.hosts }),
        set: flags.set ?? {},
      }
      const layout = layoutIn()
      using _lock = lockDeployment(layout)
      const state = await joinCell(layout, asked, progress)
      await superviseDeployment(layout)
      for (const line of describeCell(layout, { state, what: 'created' })) say(line)
    })
}

function given(value: string | undefined, what: string): string {
  if (value !== undefined) return value
  throw new Failure('invalid', `${what} is missing. See: ./weir cell join --help`)
}
