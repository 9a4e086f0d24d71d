import type { Command } from 'commander'
import { withView } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import type { Operator } from '../operator.ts'
import type { ViewOptions } from '../output/present.ts'

export function addWhyCommand(program: Command, operator: Operator): void {
  withExamples(
    withView(program.command('why <server>')),
    './weir why web',
    './weir why web -o wide   # filters that refused nothing, too',
  )
    .description('why a server is where it is, or nowhere')
    .action(async (name: string, options: ViewOptions) => {
      const { explainServer } = await import('../servers/explain-server.ts')
      await explainServer(operator, name, options)
    })
}
