import type { operations } from '#openapi/federation.gen.ts'
import { idempotencyKey } from '../../app/idempotency-key.ts'
import {
  changeWebhook,
  createWebhook as create,
  deadLetterPage,
  redeliverLetter,
  deleteWebhook as remove,
  replaceWebhookSecret as replaceSecret,
  visibleWebhook,
  webhookPage,
} from '../../app/webhooks/webhooks.ts'
import { requireMatch } from '../../http/entity-tag.ts'
import type { Handler } from '../../http/operation.ts'
import { deadLetterView, webhookTag, webhookView } from '../../views/federation/webhook.ts'

const LIMIT = 1_000

/** POST /v1/webhooks */
export const createWebhook: Handler<operations['createWebhook']> = async (call) => {
  const { app, context, body, raw } = call
  const { name, url, types = [], project_id: projectId } = body
  const key = idempotencyKey(context, raw.header('idempotency-key'), body)
  const asked = { projectId, name, url, types }
  const { webhook, secret } = await create(app.webhooks, context, asked, key)
  return { body: { webhook: webhookView(webhook), secret } }
}

/** GET /v1/webhooks */
export const listWebhooks: Handler<operations['listWebhooks']> = async (call) => {
  const { app, context, query } = call
  const { limit = LIMIT, cursor } = query
  const { items, next } = await webhookPage(app.db, context, { limit, cursor })
  return { body: { webhooks: items.map(webhookView), next } }
}

/** GET /v1/webhooks/{webhook} */
export const showWebhook: Handler<operations['showWebhook']> = async (call) => {
  const { app, context, params } = call
  const webhook = await visibleWebhook(app.db, context, params.webhook)
  return { body: webhookView(webhook), headers: { ETag: webhookTag(webhook) } }
}

/** PATCH /v1/webhooks/{webhook} */
export const updateWebhook: Handler<operations['updateWebhook']> = async (call) => {
  const { app, context, params, body, raw } = call
  const found = await visibleWebhook(app.db, context, params.webhook)
  requireMatch(raw.header('if-match'), webhookTag(found))
  const { name, url, types, is_enabled: isEnabled } = body
  await changeWebhook(app.webhooks, found, { name, url, types, isEnabled })
  const webhook = await visibleWebhook(app.db, context, params.webhook)
  return { body: webhookView(webhook), headers: { ETag: webhookTag(webhook) } }
}

/** POST /v1/webhooks/{webhook}/secret */
export const replaceWebhookSecret: Handler<operations['replaceWebhookSecret']> = async (call) => {
  const { app, context, params, body, raw } = call
  const found = await visibleWebhook(app.db, context, params.webhook)
  requireMatch(raw.header('if-match'), webhookTag(found))
  const secret = await replaceSecret(app.webhooks, found, body.overlap_s)
  const webhook = await visibleWebhook(app.db, context, params.webhook)
  return { body: { webhook: webhookView(webhook), secret } }
}

/** DELETE /v1/webhooks/{webhook} */
export const deleteWebhook: Handler<operations['deleteWebhook']> = async (call) => {
  const { app, context, params, raw } = call
  const found = await visibleWebhook(app.db, context, params.webhook)
  requireMatch(raw.header('if-match'), webhookTag(found))
  await remove(app.db, found)
  return {}
}

/** GET /v1/webhooks/{webhook}/dead-letters */
export const listDeadLetters: Handler<operations['listDeadLetters']> = async (call) => {
  const { app, context, params, query } = call
  const webhook = await visibleWebhook(app.db, context, params.webhook)
  const { limit = LIMIT, cursor } = query
  const { items, next } = await deadLetterPage(app.db, webhook, { limit, cursor })
  return { body: { dead_letters: items.map(deadLetterView), next } }
}

/** POST /v1/webhooks/{webhook}/dead-letters/{dead_letter}/redeliver */
export const redeliverDeadLetter: Handler<operations['redeliverDeadLetter']> = async (call) => {
  const { app, context, params } = call
  const webhook = await visibleWebhook(app.db, context, params.webhook)
  await redeliverLetter(app.db, webhook, params.dead_letter)
  return {}
}
