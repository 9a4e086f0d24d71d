import type { Command } from 'commander'
import { layoutIn } from '../../deployment/layout.ts'
import { existingState } from '../../deployment/state.ts'

export function addSshCommand(program: Command): void {
  program
    .command('ssh <server> [command...]')
    .description(
      'Open a shell on a server, by its floating IP, from the external network of the deployment',
    )
    .option('-l, --login <user>', 'User of the server', 'root')
    .passThroughOptions()
    .action(
      async (server: string, given: readonly string[], { login }: { readonly login: string }) => {
        const command = given[0] === '--' ? given.slice(1) : given
        const layout = layoutIn()
        const state = existingState(layout)
        const { openShell } = await import('../../ssh/open-shell.ts')
        process.exitCode = await openShell(layout, state, { server, login, command })
      },
    )
}
