import { type Command, Option } from 'commander'
import { withCloud, withView, withWatch } from '../api-options.ts'
import type { CloudOptions } from '../cloud/cloud-config.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'
import { wholeNumber } from '../option-values.ts'
import type { ViewOptions } from '../output/present.ts'
import type { CreateOptions, ReplaceSecretOptions, UpdateOptions } from '../webhooks/webhooks.ts'

const ID = '01a1ff41-2069-4605-8cdc-5e0eef8ca4a4'
const TYPES = [
  'server.action',
  'server.step',
  'server.state',
  'server.deleted',
  'volume.state',
  'volume.deleted',
  'snapshot.state',
  'snapshot.deleted',
] as const

export function addWebhookCommands(program: Command, operator: Operator): void {
  const webhook = noun(program, 'webhook', 'Send the events of a project to URLs')
  addChanges(webhook, operator)
  withExamples(withWatch(withView(webhook.command('list'))), './weir webhook list')
    .description('List webhooks, oldest first')
    .action(async (options: ViewOptions) => {
      const { listWebhooks } = await import('../webhooks/webhooks.ts')
      await listWebhooks(operator, options)
    })
  withExamples(withWatch(withView(webhook.command('show <id>'))), `./weir webhook show ${ID}`)
    .description('Show a webhook, and why its last attempt failed')
    .action(async (id: string, options: ViewOptions) => {
      const { showWebhook } = await import('../webhooks/webhooks.ts')
      await showWebhook(operator, id, options)
    })
  withExamples(
    withWatch(withView(webhook.command('dead-letters <id>'))),
    `./weir webhook dead-letters ${ID}`,
  )
    .description('List the events that the receiver of a webhook has not accepted in time')
    .action(async (id: string, options: ViewOptions) => {
      const { listDeadLetters } = await import('../webhooks/dead-letters.ts')
      await listDeadLetters(operator, id, options)
    })
  withExamples(
    withCloud(webhook.command('redeliver <id> [dead-letter]')),
    `./weir webhook redeliver ${ID}`,
    `./weir webhook redeliver ${ID} 17`,
  )
    .description('Send one dead letter of a webhook again, or all of them')
    .action(async (id: string, letter: string | undefined, options: CloudOptions) => {
      const { redeliver } = await import('../webhooks/dead-letters.ts')
      await redeliver(operator, id, letter, options)
    })
}

function addChanges(webhook: Command, operator: Operator): void {
  withExamples(
    withView(webhook.command('create <name> <url>')),
    './weir webhook create billing https://billing.example.com/weir',
    './weir webhook create alerts https://alerts.example.com/in --type server.state server.deleted',
  )
    .description('Create a webhook, and print the secret that signs its requests')
    .addOption(types('Only events of these types (default: all)'))
    .option('--project <id>', 'Project, for administrators (default: that of the user)')
    .action(async (name: string, url: string, options: CreateOptions) => {
      const { createWebhook } = await import('../webhooks/webhooks.ts')
      await createWebhook(operator, name, url, options)
    })
  withExamples(
    withView(webhook.command('update <id>')),
    `./weir webhook update ${ID} --url https://billing.example.com/v2`,
    `./weir webhook update ${ID} --disable`,
  )
    .description('Change a webhook, and try the next event at once')
    .option('--name <name>', 'New name')
    .option('--url <url>', 'New URL')
    .addOption(types('Only events of these types'))
    .option('--enable', 'Send events from now on')
    .addOption(new Option('--disable', 'Send no events').conflicts('enable'))
    .action(async (id: string, options: UpdateOptions) => {
      const { updateWebhook } = await import('../webhooks/webhooks.ts')
      await updateWebhook(operator, id, options)
    })
  withExamples(
    withView(webhook.command('replace-secret <id>')),
    `./weir webhook replace-secret ${ID}`,
    `./weir webhook replace-secret ${ID} --overlap 0`,
  )
    .description('Sign the events of a webhook with a new secret, and print it')
    .option(
      '--overlap <seconds>',
      'Sign with the former secret, too, for this time; 0 ends it at once (default: a day)',
      wholeNumber,
    )
    .action(async (id: string, options: ReplaceSecretOptions) => {
      const { replaceSecret } = await import('../webhooks/webhooks.ts')
      await replaceSecret(operator, id, options)
    })
  withExamples(withCloud(webhook.command('delete <id>')), `./weir webhook delete ${ID}`)
    .description('Delete a webhook and its dead letters')
    .action(async (id: string, options: CloudOptions) => {
      const { deleteWebhook } = await import('../webhooks/webhooks.ts')
      await deleteWebhook(operator, id, options)
    })
}

function types(description: string): Option {
  return new Option('--type <type...>', description).choices(TYPES)
}
