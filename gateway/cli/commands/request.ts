import type { Command } from 'commander'
import { withView } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'
import type { ViewOptions } from '../output/present.ts'

export function addRequestCommands(program: Command, operator: Operator): void {
  const request = noun(program, 'request', 'Show all records of one request')
  withExamples(
    withView(request.command('show <id>')),
    './weir request show req-7c1e9bb2-2e0f-4f1c-9c5e-0c7f0d1b6a11',
  )
    .description('Show the audit, trace, actions, events, decisions and log lines of a request')
    .action(async (id: string, options: ViewOptions) => {
      const { showRequest } = await import('../requests/show-request.ts')
      await showRequest(operator, id, options)
    })
}
