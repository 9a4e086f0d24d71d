import ipaddr from 'ipaddr.js'
import { type EnvReader, SettingsError } from '#common/env.ts'
import type { WebhookRules } from './app/webhooks/webhook-url.ts'

const PROJECT_MAX = 10
const RETRY_S = { usual: 3_600, min: 1, max: 86_400 } as const
const TIMEOUT_MS = { usual: 10_000, min: 100, max: 60_000 } as const

/** Reads GATEWAY_WEBHOOK* with a reader of GATEWAY_*, which then reports the problems of them. */
export function readWebhookRules(read: EnvReader): WebhookRules {
  const { usual, min, max } = TIMEOUT_MS
  return {
    projectMax: read.integer('WEBHOOKS_PROJECT_MAX', PROJECT_MAX, 0, 1_000),
    networks: read.list('WEBHOOK_NETWORKS'),
    retryMs: 1_000 * read.integer('WEBHOOK_RETRY_S', RETRY_S.usual, RETRY_S.min, RETRY_S.max),
    timeoutMs: read.integer('WEBHOOK_TIMEOUT_MS', usual, min, max),
  }
}

/** Throws a SettingsError for an entry that is not a CIDR block. */
export function assertWebhookRules({ networks }: WebhookRules): void {
  const network = networks.find((each) => !ipaddr.isValidCIDR(each))
  if (network !== undefined)
    throw new SettingsError([`GATEWAY_WEBHOOK_NETWORKS: ${network} is not a CIDR block`])
}
