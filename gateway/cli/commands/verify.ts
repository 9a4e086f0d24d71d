import type { Command } from 'commander'
import { withView, withWatch } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import type { Operator } from '../operator.ts'
import type { ViewOptions } from '../output/present.ts'

export function addVerifyCommand(program: Command, operator: Operator): void {
  withExamples(withWatch(withView(program.command('verify'))), './weir verify')
    .description('whether every cell is heard and every host up; exit code 1 when one is not')
    .action(async (options: ViewOptions) => {
      const { verifyCloud } = await import('../verify/verify-cloud.ts')
      await verifyCloud(operator, options)
    })
}
