import type { Command } from 'commander'
import { withView, withWatch } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'
import type { ViewOptions } from '../output/present.ts'

export function addQuotaCommands(program: Command, operator: Operator): void {
  const quota = noun(program, 'quota', 'Show quotas of projects')
  withExamples(
    withWatch(withView(quota.command('show <project>'))),
    './weir quota show demo',
    './weir quota show demo -o json',
  )
    .description('Show the usage, the limit and the remaining amount of each quota of a project')
    .action(async (project: string, options: ViewOptions) => {
      const { showQuota } = await import('../quotas/show-quota.ts')
      await showQuota(operator, project, options)
    })
}
