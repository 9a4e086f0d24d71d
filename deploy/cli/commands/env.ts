import { type Command, Option } from 'commander'
import type { CloudName } from '../../deployment/clouds-file.ts'
import { layoutIn } from '../../deployment/layout.ts'
import { existingState } from '../../deployment/state.ts'
import { say } from '../say.ts'

const CLOUDS: readonly CloudName[] = ['weir', 'weir-admin']

export function addEnvCommand(program: Command): void {
  program
    .command('env')
    .description('Print shell exports for OpenStack clients: eval "$(./weir env)"')
    .addOption(
      new Option('--cloud <name>', 'Entry of clouds.yaml to export')
        .choices([...CLOUDS])
        .default(CLOUDS[0] ?? ''),
    )
    .action(({ cloud }: { readonly cloud: CloudName }) => {
      const layout = layoutIn()
      existingState(layout)
      say(`export OS_CLIENT_CONFIG_FILE='${layout.cloudsFile.replaceAll("'", `'\\''`)}'`)
      say(`export OS_CLOUD=${cloud}`)
    })
}
