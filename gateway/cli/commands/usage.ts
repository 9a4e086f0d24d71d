import type { Command } from 'commander'
import { withView, withWatch } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import type { Operator } from '../operator.ts'
import type { UsageOptions } from '../usage/show-usage.ts'

export function addUsageCommand(program: Command, operator: Operator): void {
  withExamples(
    withWatch(withView(program.command('usage')))
      .option(
        '--start <time>',
        'Beginning of the period; by default the beginning of the month, in UTC',
      )
      .option('--end <time>', 'End of the period; now by default')
      .option(
        '--by <keys>',
        'Sum by some of project, cell and flavor, separated by commas',
        'project',
      )
      .option('--project <project>', 'Only of this project, by id or name'),
    './weir usage',
    './weir usage --start 2026-10-01 --end 2026-11-01 --by project,cell -o csv',
  )
    .description(
      'Show what servers took in a period, and what that costs by the prices of the gateway',
    )
    .action(async (options: UsageOptions) => {
      const { showUsage } = await import('../usage/show-usage.ts')
      await showUsage(operator, options)
    })
}
