import { type Command, Option } from 'commander'
import { withExamples } from '#gateway/cli/examples.ts'
import { noun } from '#gateway/cli/noun.ts'
import { layoutIn } from '../../deployment/layout.ts'
import { lockDeployment } from '../../deployment/lock.ts'
import { LAUNCHED_DRIVERS } from '../../hypervisors/launched-driver.ts'
import type { JoinOptions } from '../../join/redeem-join-token.ts'
import { readJoinTokenOption } from '../read-secret.ts'
import { progress, say } from '../say.ts'
import { withSettings } from './cell-cloud.ts'

interface JoinFlags extends Omit<JoinOptions, 'token'> {
  readonly tokenFile?: string
}

export function addHostCommand(program: Command): void {
  const host = noun(program, 'host', 'Manage hosts, on which servers run')
  withSettings(
    withExamples(
      host.command('join'),
      './weir host join --gateway https://cloud.example:8774 --token-file FILE --driver libvirt',
      './weir host join --gateway URL --token-file FILE --driver baremetal --set boot_url=http://192.0.2.1:8480',
    ),
  )
    .description('Join a cell of another deployment as a host')
    .requiredOption('--gateway <url>', 'Gateway of the deployment that issued the join token')
    .option(
      '--token-file <file>',
      'File with the one-time join token; - reads standard input (default: $WEIR_JOIN_TOKEN)',
    )
    .addOption(
      new Option('--driver <name>', 'Backend that servers run on')
        .choices(['auto', ...LAUNCHED_DRIVERS])
        .default('auto'),
    )
    .action(async ({ tokenFile, ...rest }: JoinFlags) => {
      const { joinHost } = await import('../../join/join-host.ts')
      const { describeHost } = await import('../describe-host.ts')
      const { superviseDeployment } = await import('../../supervisor/supervision.ts')
      const options = { ...rest, token: await readJoinTokenOption(tokenFile, process.env) }
      const layout = layoutIn()
      using _lock = lockDeployment(layout)
      const state = await joinHost(layout, options, progress)
      await superviseDeployment(layout)
      for (const line of describeHost(layout, { state, what: 'created' })) say(line)
    })
}
