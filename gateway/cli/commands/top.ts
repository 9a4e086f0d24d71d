import type { Command } from 'commander'
import { withView, withWatch } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import type { Operator } from '../operator.ts'
import type { ViewOptions } from '../output/present.ts'

export function addTopCommand(program: Command, operator: Operator): void {
  withExamples(
    withWatch(withView(program.command('top'))),
    './weir top --watch',
    './weir top -o json',
  )
    .description('Show the usage of cells and hosts, fullest first')
    .action(async (options: ViewOptions) => {
      const { showTop } = await import('../top/show-top.ts')
      await showTop(operator, options)
    })
}
