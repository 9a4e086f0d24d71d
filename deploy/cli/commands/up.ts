import { type Command, Option } from 'commander'
import { layoutIn } from '../../deployment/layout.ts'
import { lockDeployment } from '../../deployment/lock.ts'
import type { UpOptions } from '../../deployment/options.ts'
import { LAUNCHED_DRIVERS } from '../../hypervisors/launched-driver.ts'
import { progress, say } from '../say.ts'
import { upTo } from '../up-to.ts'

const PORT_MAX = 65_535
const COUNT_MAX = 64

export function addUpCommand(program: Command): void {
  program
    .command('up')
    .description('start a whole deployment in .weir/: database, bus, gateway, cells, one server')
    .addOption(
      new Option('--driver <name>', 'what servers run on (default: auto)').choices([
        'auto',
        ...LAUNCHED_DRIVERS,
      ]),
    )
    .option('--cells <n>', 'how many cells (default: 2)', upTo(COUNT_MAX))
    .option(
      '--hosts <n>',
      'hosts per cell (default: 2 simulated, or 1 of libvirt)',
      upTo(COUNT_MAX),
    )
    .option('--gateways <n>', 'how many gateways (default: 1)', upTo(COUNT_MAX))
    .option('--port <port>', 'of the first gateway (default: 8774, or a free one)', upTo(PORT_MAX))
    .option('--address <ip>', 'serve cells and clients of other machines there, over TLS')
    .option(
      '--set <name=value>',
      'a setting of docs/settings.md, kept; an empty value is the usual one again',
      (text: string, before: readonly string[]) => [...before, text],
      [],
    )
    .option('--fresh', 'remove what is there first, servers included')
    .action(async (options: UpOptions) => {
      const { bringUp } = await import('../../up/up.ts')
      const { describeCell } = await import('../describe-cell.ts')
      const { describeHost } = await import('../describe-host.ts')
      const { describeUp } = await import('../describe-up.ts')
      const layout = layoutIn()
      using _lock = lockDeployment(layout)
      const result = await bringUp(layout, options, progress)
      const { joined, host } = result.state
      const ofCell = joined === undefined ? describeUp : describeCell
      const describe = host === undefined ? ofCell : describeHost
      for (const line of describe(layout, result)) say(line)
    })
}
