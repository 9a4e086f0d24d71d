import type { ActionEvent } from '#openapi/wire/feed.ts'
import type { Fault } from '#openapi/wire/instance.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import { lastRefusal } from '../../cells/last-refusal.ts'

/** How the last tried cell ended a build: its decision and its message. */
export interface LastCell {
  /** Undefined: none is kept. */
  readonly trace: Trace | undefined
  readonly reason: string
}

/** Nova's sentence (nova/exception.py, `NoValidHost`, with its scheduler's reason). */
const NO_VALID_HOST = 'No valid host was found. There are not enough hosts available.'

/**
 * The fault of a server when no cell is left that could build it: Nova's words, and the filter that removed the last
 * cell. The details are for operators. `choice`: the decision that found no cell; `last`: the refusal of the cell
 * asked before.
 */
export function noValidHost(now: number, choice: Trace, last?: LastCell): Fault {
  const emptied = whyNoCell(choice)
  return {
    code: 500,
    message: `${NO_VALID_HOST} ${whatLeftNobody(choice, last?.trace)}`,
    details: last === undefined ? emptied : `${emptied} The last cell refused: ${last.reason}`,
    createdAt: now,
  }
}

/** The filter that removed the last cells, with its reasons, for operators. */
export function whyNoCell({ filters }: Trace): string {
  const filter = filters.at(-1)
  if (filter === undefined) return 'No cell is left to be asked.'
  const examples = filter.examples.map(({ candidate, reason }) => `${candidate} ${reason}`)
  return `${filter.name} left no cell: ${examples.join('; ')}.`
}

/** As Nova names the steps of its conductor. */
const CHOICE = 'conductor_schedule_and_build_instances'

/** The step of a build that ended in this fault because there was no cell to ask. */
export function failedChoice(
  { serverId, requestId }: Pick<ActionEvent, 'serverId' | 'requestId'>,
  { createdAt: at, details }: Fault,
): ActionEvent {
  const times = { startedAt: at, finishedAt: at }
  return { serverId, requestId, event: CHOICE, ...times, host: null, result: 'Error', details }
}

/** By filter. Without the names of cells, which users do not learn. */
const REASONS: Readonly<Record<string, string>> = {
  PhysicalNetworkFilter:
    'whole machines have ports on provider networks of their site alone; use one of these',
  LimitFilter: 'the project has as much there as it may have',
  TaintTolerationFilter: 'the parts of the cloud that are left are reserved for other servers',
  TunnelFilter:
    'a network of the server is in another part of the cloud, to which that has no connection',
}

/** A cell that was asked knows better than the choice after it, which only finds that cell tried. */
function whatLeftNobody(choice: Trace, lastInCell: Trace | undefined): string {
  const refusal = lastRefusal(lastInCell ?? choice)
  const isTried = refusal?.level === 'hosts' && refusal.filter === 'RetryFilter'
  if (refusal === undefined || isTried) return 'The hosts that were tried could not build it.'
  const { filter, considered, level } = refusal
  const all = considered === 1 ? level.slice(0, -1) : `of ${considered} ${level}`
  if (considered === 0) return `There are no ${level}.`
  if (filter === null) return `The last ${all} filled up while it was claimed.`
  const more = REASONS[filter]
  return `${filter} removed the last ${all}${more === undefined ? '' : `: ${more}`}.`
}

/** The fault of a server that ran in a lost cell. */
export function lostCell(now: number, cell: string): Fault {
  return {
    code: 500,
    message: 'The server was lost with the machines it ran on.',
    details: `Cell ${cell} was declared lost.`,
    createdAt: now,
  }
}

/** The fault of a server that was to have a volume which was not made (nova/exception.py, `VolumeNotCreated`). */
export function volumeNotMade(
  now: number,
  { volumeId, reason }: { readonly volumeId: string; readonly reason: string },
): Fault {
  return {
    code: 500,
    message: `Build of the server was aborted: Volume ${volumeId} did not finish being created.`,
    details: reason,
    createdAt: now,
  }
}

/** The fault of a server whose build another release of this program began and abandoned. */
export function interruptedBuild(now: number): Fault {
  return {
    code: 500,
    message: 'Build of the server was interrupted.',
    details: 'Its saga was begun by a version with other steps, and was unwound.',
    createdAt: now,
  }
}
