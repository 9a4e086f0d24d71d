import type { Command } from 'commander'
import { withCloud, withView, withWatch } from '../api-options.ts'
import type { CloudOptions } from '../cloud/cloud-config.ts'
import { withExamples } from '../examples.ts'
import type { IntentOptions } from '../intents/intents.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'

export function addIntentCommands(program: Command, operator: Operator): void {
  const intent = noun(program, 'intent', 'List and cancel changes that wait for unreachable cells')
  withExamples(
    withWatch(withView(intent.command('list'))),
    './weir intent list --cell north',
    './weir intent list --server web',
  )
    .description('List changes that wait for unreachable cells, in the order of their requests')
    .option('--cell <cell>', 'Only of servers in this cell')
    .option('--server <server>', 'Only of this server, by name or ID')
    .action(async (options: IntentOptions) => {
      const { listIntents } = await import('../intents/intents.ts')
      await listIntents(operator, options)
    })
  withExamples(
    withCloud(intent.command('cancel <id>')),
    './weir intent cancel 01a1ff41-2069-4605-8cdc-5e0eef8ca4a4',
  )
    .description('Cancel a waiting change that is not being carried out yet')
    .action(async (id: string, options: CloudOptions) => {
      const { cancelIntent } = await import('../intents/intents.ts')
      await cancelIntent(operator, id, options)
    })
}
