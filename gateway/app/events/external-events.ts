import type { Tx } from '#common/db/database.ts'
import { isUuid } from '#common/ids.ts'
import { own } from '#common/own.ts'
import { findServer } from '../../db/find-server.ts'
import { queueActions } from '../../db/server-actions.ts'
import { setPortStatus } from '../../db/server-ports.ts'
import type { ComputeDeps } from '../compute.ts'
import { type RequestContext, requesterOf } from '../request-context.ts'
import type { ServerRecord } from '../servers/list/server-record.ts'

/** What another service says has happened to a server. */
export interface ExternalEvent {
  readonly name: string
  readonly serverId: string
  readonly status: 'failed' | 'completed' | 'in-progress'
  /** The part of the server that the event concerns, such as a port. */
  readonly tag: string | undefined
}

/** 200: taken; 400: it must say what it is about; 404: no such server; 422: the server is on no host. */
export type EventCode = 200 | 400 | 404 | 422

const NEED_TAG: ReadonlySet<string> = new Set([
  'volume-extended',
  'power-update',
  'accelerator-request-bound',
])

/** Events that owners see as actions, as in Nova; the others leave no trace of their own. */
const ACTIONS: Readonly<Record<string, string>> = {
  'volume-extended': 'extend_volume',
  'power-update': 'power_update',
}

const PORT_STATUS: Readonly<Record<string, 'ACTIVE' | 'DOWN'>> = {
  'network-vif-plugged': 'ACTIVE',
  'network-vif-unplugged': 'DOWN',
}

/** Handles events one by one and returns the result of each, in their order: one that is refused stops no other. */
export async function takeExternalEvents(
  { db }: Pick<ComputeDeps, 'db'>,
  context: RequestContext,
  events: readonly ExternalEvent[],
): Promise<readonly EventCode[]> {
  const codes: EventCode[] = []
  for (const event of events) {
    const server = isUuid(event.serverId) ? await findServer(db, event.serverId) : undefined
    const code = codeOf(event, server)
    codes.push(code)
    if (code === 200 && server !== undefined)
      await db.transaction((tx) => heed(tx, context, event, server))
  }
  return codes
}

function codeOf({ name, tag }: ExternalEvent, server: ServerRecord | undefined): EventCode {
  if (server === undefined || server.deletedAt !== null) return 404
  if (NEED_TAG.has(name) && tag === undefined) return 400
  return server.host === null ? 422 : 200
}

/** A port gets the state of its event; events that hosts do not need are only recorded. */
async function heed(
  tx: Tx,
  context: RequestContext,
  { name, tag, status }: ExternalEvent,
  server: ServerRecord,
): Promise<void> {
  const portStatus = own(PORT_STATUS, name)
  if (portStatus !== undefined && tag !== undefined && status === 'completed')
    await setPortStatus(tx, { portId: tag, serverId: server.id, status: portStatus })
  const action = own(ACTIONS, name)
  if (action === undefined) return
  const who = { requestId: context.requestId, ...requesterOf(context, server) }
  queueActions(tx, [{ serverId: server.id, action, message: null, ...who }])
}
