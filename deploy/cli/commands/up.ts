import { type Command, Option } from 'commander'
import { systemClock } from '#common/clock.ts'
import { type Layout, layoutIn } from '../../deployment/layout.ts'
import { lockDeployment } from '../../deployment/lock.ts'
import type { UpOptions } from '../../deployment/options.ts'
import { LAUNCHED_DRIVERS } from '../../hypervisors/launched-driver.ts'
import { progress, say } from '../say.ts'
import { upTo } from '../up-to.ts'

const PORT_MAX = 65_535
const COUNT_MAX = 64

export function addUpCommand(program: Command): void {
  withShape(program.command('up'))
    .description(
      'Start a deployment in .weir/: database, bus, gateway, cells and one server, and a supervisor that restarts processes that end',
    )
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
      '--images <url>',
      'Keep images in a bucket of an S3, s3://BUCKET/PREFIX; the same as --set GATEWAY_IMAGES=…',
    )
    .option(
      '--host-route',
      'Let this machine reach floating IPs: adds an interface and a route, which down removes',
    )
    .option('--boot', 'Bring the deployment up when this machine boots, by a unit of systemd')
    .option('--no-boot', 'Do not bring the deployment up when this machine boots')
    .option('--fresh', 'Remove the existing deployment first, servers included')
    .action(async ({ boot, ...options }: UpOptions & { readonly boot?: boolean }) => {
      const { bringUp } = await import('../../up/up.ts')
      const { describeCell } = await import('../describe-cell.ts')
      const { describeHost } = await import('../describe-host.ts')
      const { describeUp } = await import('../describe-up.ts')
      const { superviseDeployment } = await import('../../supervisor/supervision.ts')
      const layout = layoutIn()
      using _lock = lockDeployment(layout)
      const result = await bringUp(layout, options, progress)
      await superviseDeployment(layout)
      await startAtBoot(layout, boot)
      const { joined, host } = result.state
      const ofCell = joined === undefined ? describeUp : describeCell
      const describe = host === undefined ? ofCell : describeHost
      for (const line of describe(layout, result)) say(line)
      const { examineMembership } = await import('../../doctor/examine-membership.ts')
      const findings = await examineMembership(layout, result.state, systemClock.now())
      for (const { is, what } of findings) if (is !== 'ok') progress(what)
    })
}

/** Undefined: as it was. */
async function startAtBoot(layout: Layout, isWanted: boolean | undefined): Promise<void> {
  if (isWanted === undefined) return
  const { keepBootUnit, removeBootUnit } = await import('../../systemd/boot-unit.ts')
  if (isWanted)
    progress(
      `It comes up when the machine boots: ${await keepBootUnit(layout)} (./weir up --no-boot ends that)`,
    )
  else if (await removeBootUnit(layout))
    progress('It does not come up any more when the machine boots.')
}

/** The options that say of which parts a new deployment is made. */
function withShape(up: Command): Command {
  return up
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
    .option(
      '--cells <n>',
      'Number of cells; 0: the control plane alone, without a demo (default: 2)',
      upTo(COUNT_MAX, 0),
    )
    .option(
      '--hosts <n>',
      'Hosts of each cell (default: 2 simulated, or 1 of libvirt)',
      upTo(COUNT_MAX),
    )
    .option('--gateways <n>', 'Number of gateways (default: 1)', upTo(COUNT_MAX))
    .option(
      '--database <url>',
      'Use MariaDB servers that exist, mysql://USER@HOST:PORT,HOST:PORT of an account that may create databases and accounts; its password may be in WEIR_DATABASE_PASSWORD (default: a private server)',
    )
    .option(
      '--bus <urls>',
      'Use NATS servers that exist, nats://HOST:PORT,nats://HOST:PORT (default: a private server)',
    )
    .option('--bus-keys <directory>', 'Keys of the servers of --bus, made by ./weir keys create')
    .option(
      '--bus-leaf <urls>',
      'Where the servers of --bus take leaf nodes, nats://HOST:PORT each: cells on other machines need them',
    )
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
