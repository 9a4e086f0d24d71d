import { type Entry, outcomeOf } from '../record/record.ts'
import type { Evidence, Wrong } from './compare.ts'
import type { Snapshot } from './snapshot.ts'

/** Requests to these are on record before they are answered; others within `LAG_MS`, as ARCHITECTURE.md promises. */
const URGENT = /^\/(identity|federation)\//
/** A tenth of a second, and what a busy machine adds to it. */
const LAG_MS = 1_000
const UNAVAILABLE = 503
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Every change that was answered well is on the audit's record, once and with its answer; acts on their server's too. */
export function compareTrails(snapshot: Snapshot, evidence: Evidence): readonly Wrong[] {
  const audit = auditOf(snapshot)
  const actions = new Set(
    snapshot.gateway.actions.map(({ serverId, requestId }) => `${serverId} ${requestId}`),
  )
  const servers = new Set(snapshot.api.servers.map(({ id }) => id))
  const wrongTrails = (entry: Entry) => [
    ...wrongAudit(entry, audit.get(entry.requestId) ?? [], evidence),
    ...(entry.act !== undefined && servers.has(entry.act.serverId) ? wrongAct(entry, actions) : []),
  ]
  return evidence.record.entries.flatMap((entry) => [
    ...unforeseen(entry),
    ...(outcomeOf(entry) === 'done' ? wrongTrails(entry) : []),
  ])
}

/** A fault may leave nothing to answer but 503: a program that does not know what happened to it is wrong. */
function unforeseen({ status, method, path, requestId }: Entry): Wrong[] {
  if (status < 500 || status === UNAVAILABLE) return []
  const text = `${method} ${path} was answered ${status}`
  return [{ kind: 'wrong answer', text, requests: [requestId] }]
}

/** What a killed gateway had answered in the last moment and not written, which is promised of none. */
export function excusedRecords({ gateway }: Snapshot, evidence: Evidence): number {
  const written = new Set(gateway.audit.map(({ requestId }) => requestId))
  return evidence.record.entries.filter(
    (entry) =>
      outcomeOf(entry) === 'done' &&
      isAudited(entry) &&
      !written.has(entry.requestId) &&
      isExcused(entry, evidence),
  ).length
}

/** The statuses on record, by request. */
function auditOf({ gateway }: Snapshot): ReadonlyMap<string, readonly number[]> {
  const statuses = new Map<string, number[]>()
  for (const { requestId, status } of gateway.audit) {
    const own = statuses.get(requestId)
    if (own === undefined) statuses.set(requestId, [status])
    else own.push(status)
  }
  return statuses
}

function wrongAudit(entry: Entry, statuses: readonly number[], evidence: Evidence): Wrong[] {
  if (!isAudited(entry)) return []
  const { method, path, status, requestId } = entry
  const what = `${method} ${path}, answered ${status},`
  const wrong = (text: string): Wrong[] => [{ kind: 'unrecorded', text, requests: [requestId] }]
  if (statuses.length === 0)
    return isExcused(entry, evidence) ? [] : wrong(`${what} is not on the audit's record`)
  if (statuses.length > 1) return wrong(`${what} is on the audit's record ${statuses.length} times`)
  return statuses[0] === status ? [] : wrong(`${what} is on the audit's record with ${statuses[0]}`)
}

/** Whoever signs in has no token yet, and is nobody on record. */
function isAudited({ method, path }: Entry): boolean {
  return !READING.has(method) && !path.endsWith('/auth/tokens')
}

function isExcused({ path, gateway, endMs }: Entry, { kills, outages }: Evidence): boolean {
  if (URGENT.test(path)) return false
  return kills.some((kill) => {
    if (kill.gateway !== gateway || kill.atMs < endMs) return false
    const held = outages.filter(({ fromMs, untilMs }) => fromMs < kill.atMs && untilMs > endMs)
    const waitedMs = held.reduce(
      (sum, { fromMs, untilMs }) => sum + Math.min(untilMs, kill.atMs) - Math.max(fromMs, endMs),
      0,
    )
    return kill.atMs - endMs - waitedMs <= LAG_MS
  })
}

function wrongAct({ act, requestId, status }: Entry, actions: ReadonlySet<string>): Wrong[] {
  if (act === undefined || actions.has(`${act.serverId} ${requestId}`)) return []
  const text = `${act.name} of server ${act.serverId}, answered ${status}, is not among its actions`
  return [{ kind: 'unrecorded', text, requests: [requestId] }]
}
