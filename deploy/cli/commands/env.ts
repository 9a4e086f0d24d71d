import { type Command, Option } from 'commander'
import { type CloudName, openrcVariables } from '../../deployment/clouds-file.ts'
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
    .option('--openrc', 'Export OS_* variables, for tools that read no clouds.yaml')
    .action(({ cloud, openrc }: { readonly cloud: CloudName; readonly openrc?: true }) => {
      const layout = layoutIn()
      existingState(layout)
      if (openrc === true) {
        // Clients prefer a cloud that is named over these variables.
        say('unset OS_CLOUD')
        for (const [name, value] of openrcVariables(layout, cloud))
          say(`export ${name}=${quoted(value)}`)
        return
      }
      say(`export OS_CLIENT_CONFIG_FILE=${quoted(layout.cloudsFile)}`)
      say(`export OS_CLOUD=${cloud}`)
    })
}

/** As one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
