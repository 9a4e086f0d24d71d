import type { components } from '#openapi/federation.gen.ts'
import type { DeadLetter } from '../../db/webhook-dead-letters.ts'
import type { Webhook } from '../../db/webhooks.ts'

type Event = components['schemas']['Event']
type EventType = components['schemas']['WebhookEventType']

/** A webhook as the federation API shows it: never its secret. */
export function webhookView(webhook: Webhook) {
  return {
    id: webhook.id,
    project_id: webhook.projectId,
    name: webhook.name,
    url: webhook.url,
    types: webhook.types as readonly EventType[],
    is_enabled: webhook.isEnabled,
    created_at: webhook.createdAt.toISOString(),
    updated_at: webhook.updatedAt.toISOString(),
    up_to: String(webhook.upTo),
    failures: webhook.failures,
    failing_since: webhook.failingSince?.toISOString() ?? null,
    next_attempt_at: webhook.nextAttemptAt.toISOString(),
    delivered_at: webhook.deliveredAt?.toISOString() ?? null,
    former_secret_ends_at: webhook.formerSecretEndsAt?.toISOString() ?? null,
    last_error: webhook.lastError,
  }
}

/** Changes with every change that users make, and not with deliveries. */
export function webhookTag({ updatedAt }: Webhook): string {
  return `"${updatedAt.getTime()}"`
}

/** A dead letter, with its event as it was sent. */
export function deadLetterView(letter: DeadLetter) {
  return {
    id: String(letter.id),
    webhook_id: letter.webhookId,
    event_id: String(letter.n),
    type: letter.type,
    at: letter.at.toISOString(),
    error: letter.error,
    is_due: letter.isDue,
    event: JSON.parse(letter.body) as Event,
  }
}
