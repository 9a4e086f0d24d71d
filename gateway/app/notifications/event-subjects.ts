import type { Executor } from '#common/db/database.ts'
import type { EventDetails } from '../../db/event-inbox.ts'
import type { KeptEvent } from '../../db/events.ts'
import { findPlacedServer, type PlacedServer } from '../../db/find-server.ts'
import { type HostRecord, hostsOfNames } from '../../db/host-list.ts'
import { findKeypair, type Keypair } from '../../db/keypairs.ts'
import type { Port } from '../../db/network.ts'
import { type RequestedAction, requestedActions, statesUpTo } from '../../db/notified-events.ts'
import { portsOfServer } from '../../db/ports.ts'
import { attachmentsOfServers, type VolumeAttachment } from '../../db/volume-attachments.ts'

/** A server as it is when its notifications are made. */
export interface NotifiedServer extends PlacedServer {
  readonly ports: readonly Port[]
  readonly attachments: readonly VolumeAttachment[]
  /** Undefined: it has none, or it is gone. */
  readonly keypair: Keypair | undefined
}

/** What a notification tells besides its event. */
export interface EventSubject {
  readonly event: KeptEvent
  /** Undefined: the event is about no server, or its record was purged. */
  readonly server: NotifiedServer | undefined
  /** The action that a step belongs to, or that the event is. */
  readonly action: RequestedAction | undefined
  /** What the event before it said that the server is. */
  readonly before: EventDetails | undefined
  readonly host: HostRecord | undefined
}

/** Events with what they are about, in their order. */
export async function eventSubjects(
  db: Executor,
  events: readonly KeptEvent[],
): Promise<readonly EventSubject[]> {
  const [first] = events
  if (first === undefined) return []
  const serverIds = [...new Set(events.flatMap(({ serverId }) => serverId ?? []))]
  const requestIds = [...new Set(events.flatMap(({ details }) => details.requestId ?? []))]
  const [servers, actions, states, hosts] = await Promise.all([
    Promise.all(serverIds.map((id) => notifiedServer(db, id))),
    requestedActions(db, serverIds, requestIds),
    statesUpTo(db, serverIds, first.n - 1),
    hostsOfNames(db, hostNames(events)),
  ])
  const byId = new Map(serverIds.map((id, nth) => [id, servers[nth]]))
  const known = new Map(states)
  return events.map((event) => {
    const { serverId, type, details } = event
    const before = serverId === null ? undefined : known.get(serverId)
    if (serverId !== null && type === 'server.state') known.set(serverId, details)
    return {
      event,
      server: serverId === null ? undefined : byId.get(serverId),
      action: actions.findLast(isOf(event)),
      before,
      host: hosts.find(({ cellId, view }) => cellId === event.cellId && view.name === details.host),
    }
  })
}

function hostNames(events: readonly KeptEvent[]): readonly string[] {
  const ofHosts = events.filter(({ type }) => type === 'host.state')
  return [...new Set(ofHosts.flatMap(({ details }) => details.host ?? []))]
}

function isOf({ serverId, type, details }: KeptEvent): (action: RequestedAction) => boolean {
  return (each) =>
    each.serverId === serverId &&
    each.requestId === details.requestId &&
    (type !== 'server.action' || each.action === details.action)
}

async function notifiedServer(db: Executor, id: string): Promise<NotifiedServer | undefined> {
  const placed = await findPlacedServer(db, id)
  if (placed === undefined) return undefined
  const { userId, keyName } = placed.server
  const [ports, attachments, keypair] = await Promise.all([
    portsOfServer(db, id),
    attachmentsOfServers(db, [id]),
    keyName === null ? undefined : findKeypair(db, userId, keyName),
  ])
  return { ...placed, ports, attachments, keypair }
}
