import type { operations } from '#openapi/federation.gen.ts'
import { writeJoinToken } from '../../app/federation/join-token.ts'
import {
  createJoinToken as create,
  listJoinTokens as list,
  deleteJoinToken as remove,
} from '../../app/federation/join-tokens.ts'
import { idempotencyKey } from '../../app/idempotency-key.ts'
import type { JoinTokenRecord } from '../../db/join-tokens.ts'
import { joinUrl } from '../../http/join-url.ts'
import type { Handler } from '../../http/operation.ts'

const LIFETIME_S = 3_600

/** POST /v1/tokens */
export const createJoinToken: Handler<operations['createJoinToken']> = async (call) => {
  const { app, context, body, links, raw } = call
  const { cell, host, renew: isRenewal = false, expires_in_s: lifetimeS = LIFETIME_S } = body
  const key = idempotencyKey(context, raw.header('idempotency-key'), body)
  const { record, secret } = await create(
    app.db,
    app.access,
    { cell, host, isRenewal, lifetimeS },
    key,
  )
  return {
    body: {
      join_token: joinTokenView(record, joinUrl(app.config, links)),
      token: secret === null ? null : writeJoinToken({ secret, pin: app.certificate?.current.pin }),
    },
  }
}

/** DELETE /v1/tokens/{token} */
export const deleteJoinToken: Handler<operations['deleteJoinToken']> = async ({ app, params }) => {
  await remove(app.db, params.token)
  return {}
}

/** GET /v1/tokens */
export const listJoinTokens: Handler<operations['listJoinTokens']> = async ({ app, links }) => {
  const tokens = await list(app.db)
  return {
    body: { tokens: tokens.map((token) => joinTokenView(token, joinUrl(app.config, links))) },
  }
}

/** A join token as the federation API shows it: never its secret. */
function joinTokenView(token: JoinTokenRecord, gateway: string) {
  return {
    id: token.id,
    cell: token.cellName,
    cell_id: token.cellId,
    host: token.hostName,
    host_id: token.hostId,
    created_at: token.createdAt.toISOString(),
    expires_at: token.expiresAt.toISOString(),
    used_at: token.usedAt?.toISOString() ?? null,
    gateway,
  }
}
