import type { Command } from 'commander'
import { withView, withWatch } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import type { Operator } from '../operator.ts'
import type { ViewOptions } from '../output/present.ts'

export function addVerifyCommand(program: Command, operator: Operator): void {
  withExamples(withWatch(withView(program.command('verify'))), './weir verify')
    .description('Check that every cell is reachable and every host is up; exit with 1 if not')
    .action(async (options: ViewOptions) => {
      const { verifyCloud } = await import('../verify/verify-cloud.ts')
      await verifyCloud(operator, options)
    })
}
