import type { operations } from '#openapi/federation.gen.ts'
import {
  protectServer as protect,
  protectionPage,
  showProtection as show,
  unprotectServer as unprotect,
} from '../../app/protections/protections.ts'
import type { ListedProtection, ListedReplica } from '../../db/server-protections.ts'
import type { Handler } from '../../http/operation.ts'

const LIMIT = 1_000

/** GET /v1/protections */
export const listProtections: Handler<operations['listProtections']> = async (call) => {
  const { app, context, query } = call
  const { limit = LIMIT, cursor } = query
  const { protections, next } = await protectionPage(app.compute, context, { limit, cursor })
  return { body: { protections: protections.map(protectionView), next } }
}

/** PUT /v1/servers/{server}/protection */
export const protectServer: Handler<operations['protectServer']> = async (call) => {
  const { app, context, params, body } = call
  const settings = { everyS: body.every_s, keep: body.keep, to: body.to_cell ?? null }
  return { body: protectionView(await protect(app.compute, context, params.server, settings)) }
}

/** GET /v1/servers/{server}/protection */
export const showProtection: Handler<operations['showProtection']> = async (call) => {
  const { app, context, params } = call
  return { body: protectionView(await show(app.compute, context, params.server)) }
}

/** DELETE /v1/servers/{server}/protection */
export const unprotectServer: Handler<operations['unprotectServer']> = async (call) => {
  const { app, context, params } = call
  await unprotect(app.compute, context, params.server)
  return {}
}

function protectionView(protection: ListedProtection) {
  const { serverId, name, projectId, everyS, keep, nextAt, lastAt } = protection
  return {
    server_id: serverId,
    name,
    project_id: projectId,
    every_s: everyS,
    keep,
    next_at: nextAt.toISOString(),
    last_at: lastAt === null ? null : lastAt.toISOString(),
    last_image_id: protection.lastImageId,
    last_error: protection.lastError,
    replica: replicaView(protection.replica),
  }
}

function replicaView(replica: ListedReplica | null) {
  if (replica === null) return null
  const { cellId, cell, imageId, imageAt, error } = replica
  return {
    cell_id: cellId,
    cell,
    image_id: imageId,
    made_at: imageAt === null ? null : imageAt.toISOString(),
    error,
  }
}
