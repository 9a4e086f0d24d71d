import type { Command } from 'commander'
import { withView } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import type { Operator } from '../operator.ts'
import type { PlacementOptions } from '../servers/explain-placement.ts'

export function addWhyCommand(program: Command, operator: Operator): void {
  withExamples(
    withView(program.command('why [server]')),
    './weir why web',
    './weir why web -o wide   # filters that refused nothing, too',
    './weir why --flavor m1.tiny --image tiny --zone north',
  )
    .description('why a server is where it is, or nowhere; or where one would go now')
    .option('--flavor <flavor>', 'of the server one has in mind, by name or id')
    .option('--image <image>', 'the same')
    .option('--zone <zone>', 'where it may go')
    .option('--network <networks...>', 'what it must reach')
    .option('--host <host>', 'the only host it may go to')
    .action(async (name: string | undefined, options: PlacementOptions) => {
      if (name === undefined) {
        const { explainPlacement } = await import('../servers/explain-placement.ts')
        return explainPlacement(operator, options)
      }
      const { explainServer } = await import('../servers/explain-server.ts')
      return explainServer(operator, name, options)
    })
}
