import { type Command, Option } from 'commander'
import { systemClock } from '#common/clock.ts'
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
    .description('Start a deployment in .weir/: database, bus, gateway, cells and one server')
    .addOption(
      new Option('--driver <name>', 'Backend that servers run on (default: auto)').choices([
        'auto',
        ...LAUNCHED_DRIVERS,
      ]),
    )
    .addOption(
      new Option(
        '--network <name>',
        'What joins servers: OVN across hosts and cells, or bridges of each host (default: ovn for libvirt and docker)',
      ).choices(['host', 'ovn']),
    )
    .option('--cells <n>', 'Number of cells (default: 2)', upTo(COUNT_MAX))
    .option(
      '--hosts <n>',
      'Hosts of each cell (default: 2 simulated, or 1 of libvirt)',
      upTo(COUNT_MAX),
    )
    .option('--gateways <n>', 'Number of gateways (default: 1)', upTo(COUNT_MAX))
    .option(
      '--port <port>',
      'Port of the first gateway (default: 8774, or a free one)',
      upTo(PORT_MAX),
    )
    .option(
      '--address <ip>',
      'Serve clients, cells and hosts of other machines at this address, over TLS',
    )
    .option(
      '--set <name=value>',
      'Set a setting of docs/reference/settings.md and keep it; an empty value restores the default',
      (text: string, before: readonly string[]) => [...before, text],
      [],
    )
    .option(
      '--host-route',
      'Let this machine reach floating IPs: adds an interface and a route, which down removes',
    )
    .option('--fresh', 'Remove the existing deployment first, servers included')
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
      const { examineMembership } = await import('../../doctor/examine-membership.ts')
      const findings = await examineMembership(layout, result.state, systemClock.now())
      for (const { is, what } of findings) if (is !== 'ok') progress(what)
    })
}

export function addDownCommand(program: Command): void {
  program
    .command('down')
    .description('Stop all processes of the deployment; data is kept')
    .action(async () => {
      const { bringDown } = await import('../../down/bring-down.ts')
      const layout = layoutIn()
      using _lock = lockDeployment(layout)
      const ran = await bringDown(layout, progress)
      say(ran ? 'Weir is down. ./weir up brings it back.' : 'Weir was down already.')
    })
}
