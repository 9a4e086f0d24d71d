import type { ApiClient } from '#test/env/api/client.ts'

const PATH = '/federation/v1/webhooks'

/** The id of a new webhook that is disabled: it does not change by itself. */
export async function restingWebhook(owner: ApiClient): Promise<string> {
  const { body } = await owner.call<{ webhook: { id: string } }>('POST', PATH, {
    name: 'sample',
    url: 'https://hooks.example.com/',
  })
  await owner.call('PATCH', `${PATH}/${body.webhook.id}`, { is_enabled: false })
  return body.webhook.id
}
