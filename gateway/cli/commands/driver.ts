import type { Command } from 'commander'
import { withView } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'
import type { ViewOptions } from '../output/present.ts'

export function addDriverCommands(program: Command, operator: Operator): void {
  const driver = noun(program, 'driver', 'List drivers of hosts')
  withExamples(withView(driver.command('list')), './weir driver list')
    .description('List the drivers of the hosts')
    .action(async (options: ViewOptions) => {
      const { listDrivers } = await import('../drivers/list-drivers.ts')
      await listDrivers(operator, options)
    })
}
