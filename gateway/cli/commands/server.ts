import type { Command } from 'commander'
import { withView, withWatch } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'
import type { ViewOptions } from '../output/present.ts'

export function addServerCommands(program: Command, operator: Operator): void {
  const server = noun(program, 'server', 'where a server is, and what was done to it')
  withExamples(withWatch(withView(server.command('where <server>'))), './weir server where web')
    .description('its cell, its host and its zone; by name or id, of any project')
    .action(async (name: string, options: ViewOptions) => {
      const { locateServer } = await import('../servers/locate-server.ts')
      await locateServer(operator, name, options)
    })
  withExamples(
    withWatch(withView(server.command('trace <server>'))),
    './weir server trace web -o json',
  )
    .description('every scheduling decision about it; ./weir why tells them in words')
    .action(async (name: string, options: ViewOptions) => {
      const { traceServer } = await import('../servers/trace-server.ts')
      await traceServer(operator, name, options)
    })
  withExamples(withWatch(withView(server.command('events <server>'))), './weir server events web')
    .description('what was done to it, the newest first')
    .action(async (name: string, options: ViewOptions) => {
      const { listActions } = await import('../servers/list-actions.ts')
      await listActions(operator, name, options)
    })
}
