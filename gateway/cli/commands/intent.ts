import type { Command } from 'commander'
import { withCloud, withView, withWatch } from '../api-options.ts'
import type { CloudOptions } from '../cloud/cloud-config.ts'
import { withExamples } from '../examples.ts'
import type { IntentOptions } from '../intents/list-intents.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'

export function addIntentCommands(program: Command, operator: Operator): void {
  const intent = noun(program, 'intent', 'what was asked of servers whose cell is silent')
  withExamples(
    withWatch(withView(intent.command('list'))),
    './weir intent list --cell north',
    './weir intent list --server web',
  )
    .description('what waits for silent cells, in the order it was asked for')
    .option('--cell <cell>', 'of servers in this cell')
    .option('--server <server>', 'of this server, by name or id')
    .action(async (options: IntentOptions) => {
      const { listIntents } = await import('../intents/list-intents.ts')
      await listIntents(operator, options)
    })
  withExamples(
    withCloud(intent.command('cancel <id>')),
    './weir intent cancel 01a1ff41-2069-4605-8cdc-5e0eef8ca4a4',
  )
    .description('take it back, as long as nobody has begun to carry it out')
    .action(async (id: string, options: CloudOptions) => {
      const { cancelIntent } = await import('../intents/cancel-intent.ts')
      await cancelIntent(operator, id, options)
    })
}
