import type { WorkContext } from '#common/context.ts'
import type { Tx } from '#common/db/database.ts'
import {
  recordedName,
  SERVER_ACTIONS,
  type ServerActionName,
} from '#common/states/server-actions.ts'
import { isSampled, traceIdOf } from '#common/trace/traceparent.ts'
import { type ActionEvent, BUILD_EVENT } from '#openapi/wire/feed.ts'
import type { Fault } from '#openapi/wire/instance.ts'
import { queueFeedRow } from '../db/feed.ts'
import type { Conductor } from './conductor.ts'
import { faultOf, type Instance, instanceView } from './instance.ts'

/** Nova's name for the work of a cell on a server, as events have it. Throws for work without a host. */
export function eventName(work: WorkName): string {
  const name = work === 'build' ? BUILD_EVENT : SERVER_ACTIONS[work].event
  if (name === null) throw new Error(`${work} has no event`)
  return name
}

export type WorkName = 'build' | ServerActionName

export interface EndedEvent {
  readonly serverId: string
  /** What asked for it. */
  readonly work: Pick<WorkContext, 'requestId' | 'traceparent'>
  readonly event: WorkName
  readonly startedAt: number
  readonly finishedAt: number
  readonly host: string | null
  /** Why it failed; undefined when it did not. */
  readonly failure?: string | undefined
  /** True where the cell began it of its own accord, so that no gateway has a record of the action. */
  readonly isOwn?: boolean | undefined
}

/** Afterwards the gateways receive the instance as it is now that work on it is over, and the result of that work. */
export function queueActionEnd(
  tx: Tx,
  { feedChanged }: Pick<Conductor, 'feedChanged'>,
  to: Instance,
  ended: Omit<EndedEvent, 'serverId'>,
): void {
  queueFeedRow(tx, [
    { kind: 'instance', view: instanceView(to) },
    { kind: 'action-event', event: endedEvent({ ...ended, serverId: to.id }) },
  ])
  tx.afterCommit(feedChanged)
}

/** The fault of an action that a host could not carry out. `at` in milliseconds since the epoch. */
export function failedAction(action: ServerActionName, reason: string, at: number): Fault {
  return faultOf(`The action '${SERVER_ACTIONS[action].name}' failed.`, reason, at)
}

/** By what gateways know the request that asked for the work, and its trace where one is recorded. */
export function requestOf({
  requestId,
  traceparent,
}: Pick<WorkContext, 'requestId' | 'traceparent'>): Pick<ActionEvent, 'requestId' | 'traceId'> {
  return { requestId, ...(isSampled(traceparent) && { traceId: traceIdOf(traceparent) }) }
}

/** Work on a server that is over, as `server event show` lists it. */
export function endedEvent({ failure, event, isOwn, work, ...rest }: EndedEvent): ActionEvent {
  const action = isOwn === true && event !== 'build' ? recordedName(event) : null
  return {
    ...rest,
    ...requestOf(work),
    ...(action !== null && { action }),
    event: eventName(event),
    result: failure === undefined ? 'Success' : 'Error',
    details: failure ?? null,
  }
}
