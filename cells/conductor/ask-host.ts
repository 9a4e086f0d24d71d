import type { Static } from 'typebox'
import { ask } from '#common/bus/ask.ts'
import type { WorkContext } from '#common/context.ts'
import { Failure, isFailure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import { checked } from '#openapi/wire/checked.ts'
import { HOST_OPERATIONS, type HostAnswer } from '#openapi/wire/host.ts'
import { type HostOperation, hostSubject } from '#openapi/wire.ts'
import { withVolumeKeys } from '../volumes/volume-keys.ts'
import type { Conductor } from './conductor.ts'

type Ask<O extends HostOperation> = Static<(typeof HOST_OPERATIONS)[O]['ask']>
type Answer<O extends HostOperation> = Static<(typeof HOST_OPERATIONS)[O]['answer']>
type WorkOperation =
  | 'spawn'
  | 'destroy'
  | 'act'
  | 'volume-create'
  | 'volume-destroy'
  | 'volume-extend'
  | 'volume-export'
  | 'volume-pack'
  | 'volume-revert'
  | 'volume-reimage'
  | 'volume-snapshot'
  | 'volume-destroy-snapshot'
  | 'volume-attach'
  | 'volume-detach'
  | 'volume-swap'

/** Between two questions after work that takes long. */
const WORKING_PAUSE_MS = 250
/** The saga then rests and asks again later, so that no process is bound to one slow host. */
const WORKING_MAX = 120

/** One question to a host, repeated while no answer comes. Silence is `unavailable`: what was asked may or may not have happened. */
export async function askHost<O extends HostOperation>(
  conductor: Conductor,
  host: HostId,
  operation: O,
  payload: Ask<O>,
  work: WorkContext,
): Promise<Answer<O>> {
  const { nats, cellId, hostTimeoutMs, imageCaches } = conductor
  const recipient = { subject: hostSubject(cellId, host, operation) }
  const answer = await ask(nats, {
    ...recipient,
    again: () => recipient,
    payload: imageCaches?.pointed(payload) ?? payload,
    work,
    timeoutMs: hostTimeoutMs,
    whom: `Host ${conductor.hosts.get(host)?.name ?? host}`,
  })
  const what = `The answer to ${operation}`
  return checked(HOST_OPERATIONS[operation].answer, answer, what) as Answer<O>
}

export interface HostWork<O extends WorkOperation> {
  readonly host: HostId
  readonly operation: O
  readonly payload: Ask<O>
  readonly work: WorkContext
  readonly signal: AbortSignal
  /** False when the outcome has ceased to matter; looked at only when the host does not answer at once. */
  readonly isWanted: () => Promise<boolean>
}

/** The outcome of work on a host: its answer, or the reason for which the cell no longer waits. */
export type HostOutcome =
  | Exclude<HostAnswer, { state: 'working' }>
  | { readonly state: 'unwanted' }
  /** An operator has declared the host down: nothing runs there. */
  | { readonly state: 'fenced' }

/** Why a host did not do it, for operators: users are shown no word of a backend's. */
export function reasonOf(
  outcome: Extract<HostOutcome, { state: 'failed' | 'stale' | 'fenced' }>,
): string {
  if (outcome.state === 'stale') return 'The host knows a newer attempt of the server.'
  if (outcome.state === 'fenced') return 'The host was declared down.'
  const { message, detail } = outcome
  return detail === undefined ? message : `${message} (${detail})`
}

/** Asks until the host has done it or says it cannot; `unavailable` when it stays silent. */
export async function workOnHost<O extends WorkOperation>(
  conductor: Conductor,
  asked: HostWork<O>,
): Promise<HostOutcome> {
  const { host, operation, payload, work, signal, isWanted } = asked
  const asking = await withVolumeKeys(conductor, operation, payload)
  for (let round = 0; round < WORKING_MAX; round += 1) {
    const answer = await (
      askHost(conductor, host, operation, asking, work) as Promise<HostAnswer>
    ).catch(async (error: unknown) => {
      if (!isFailure(error, 'unavailable')) throw error
      if (conductor.hosts.get(host)?.isForcedDown === true) return { state: 'fenced' } as const
      if (!(await isWanted())) return { state: 'unwanted' } as const
      throw error
    })
    if (answer.state !== 'working') return answer
    if (!(await isWanted())) return { state: 'unwanted' }
    await conductor.clock.sleep(WORKING_PAUSE_MS, signal)
  }
  throw new Failure('unavailable', `Host ${host} is still working on it.`)
}
