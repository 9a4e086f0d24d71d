import { Failure } from '#common/errors.ts'
import type { components } from '#openapi/federation.gen.ts'
import type { CloudOptions } from '../cloud/cloud-config.ts'
import { openSession } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import { everyPage } from '../output/pages.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { fieldsView, type Listing, listView } from '../output/view.ts'

type Webhook = components['schemas']['Webhook']
type EventType = components['schemas']['WebhookEventType']

export interface CreateOptions extends ViewOptions {
  readonly type?: readonly EventType[]
  readonly project?: string
}

export interface UpdateOptions extends ViewOptions {
  readonly name?: string
  readonly url?: string
  readonly type?: readonly EventType[]
  readonly enable?: true
  readonly disable?: true
}

export interface ReplaceSecretOptions extends ViewOptions {
  /** Seconds. */
  readonly overlap?: number
}

const LISTING: Listing<Webhook> = {
  plural: 'webhooks',
  nameOf: ({ id }) => id,
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'URL', of: ({ url }) => url },
    { head: 'STATE', of: stateOf, emphasis: (webhook) => EMPHASES[stateOf(webhook)] },
    { head: 'ID', of: ({ id }) => id },
    {
      head: 'TYPES',
      of: ({ types }) => (types.length === 0 ? 'all' : types.join(' ')),
      isWide: true,
    },
    { head: 'PROJECT', of: ({ project_id }) => project_id, isWide: true },
    { head: 'FAILURES', of: ({ failures }) => failures, isWide: true },
    { head: 'DELIVERED', of: ({ delivered_at }) => delivered_at, isWide: true },
    { head: 'LAST ERROR', of: ({ last_error }) => last_error, isWide: true },
  ],
}

const EMPHASES = { ok: 'success', failing: 'error', disabled: 'muted' } as const

function stateOf({ is_enabled, failures }: Webhook): keyof typeof EMPHASES {
  if (!is_enabled) return 'disabled'
  return failures > 0 ? 'failing' : 'ok'
}

/** Afterwards events are sent to the URL. The secret is printed, once. */
export async function createWebhook(
  operator: Operator,
  name: string,
  url: string,
  options: CreateOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const { type: types, project } = options
    const created = await federation.ask('post', '/v1/webhooks', {
      body: {
        name,
        url,
        ...(types === undefined ? {} : { types }),
        ...(project === undefined ? {} : { project_id: project }),
      },
    })
    const { secret, webhook } = created
    if (secret === null) throw new Failure('internal', 'The gateway’s answer has no secret.')
    operator.err.write('The secret that signs its requests; it is not shown again:\n')
    const text = () => `${secret}\n`
    return { data: created, names: [webhook.id], text }
  })
}

export async function listWebhooks(operator: Operator, options: ViewOptions): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const webhooks = await everyPage(async (cursor) => {
      const page = await federation.ask('get', '/v1/webhooks', { query: cursor })
      return { items: page.webhooks, next: page.next }
    })
    return listView(webhooks, LISTING)
  })
}

export async function showWebhook(
  operator: Operator,
  id: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const webhook = await federation.ask('get', '/v1/webhooks/{webhook}', { path: { webhook: id } })
    return fieldsView(webhook, LISTING)
  })
}

/** Afterwards the webhook is as the options say. Throws `invalid` where they say nothing. */
export async function updateWebhook(
  operator: Operator,
  id: string,
  options: UpdateOptions,
): Promise<void> {
  const { name, url, type: types, enable, disable } = options
  const body = {
    ...(name === undefined ? {} : { name }),
    ...(url === undefined ? {} : { url }),
    ...(types === undefined ? {} : { types }),
    ...(enable === true ? { is_enabled: true } : {}),
    ...(disable === true ? { is_enabled: false } : {}),
  }
  if (Object.keys(body).length === 0)
    throw new Failure('invalid', 'Name a change: --name, --url, --type, --enable or --disable.')
  await present(operator, options, async ({ federation }) => {
    const path = { webhook: id }
    const webhook = await federation.ask('patch', '/v1/webhooks/{webhook}', { path, body })
    return fieldsView(webhook, LISTING)
  })
}

/** Afterwards a new secret, which is printed once, signs the events; for a time the former one does, too. */
export async function replaceSecret(
  operator: Operator,
  id: string,
  { overlap, ...options }: ReplaceSecretOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const replaced = await federation.ask('post', '/v1/webhooks/{webhook}/secret', {
      path: { webhook: id },
      body: overlap === undefined ? {} : { overlap_s: overlap },
    })
    const until = replaced.webhook.former_secret_ends_at
    operator.err.write(
      `The new secret; it is not shown again. The former one also signs until ${until}:\n`,
    )
    const text = () => `${replaced.secret}\n`
    return { data: replaced, names: [id], text }
  })
}

/** Afterwards nothing is sent there. */
export async function deleteWebhook(
  operator: Operator,
  id: string,
  options: CloudOptions,
): Promise<void> {
  const { federation } = await openSession(operator, options)
  await federation.ask('delete', '/v1/webhooks/{webhook}', { path: { webhook: id } })
  operator.err.write(`Webhook ${id} is deleted.\n`)
}
