import { type Entry, outcomeOf, type RunRecord } from '../record/record.ts'
import type { Wrong } from './compare.ts'
import type { Snapshot } from './snapshot.ts'

const UNAVAILABLE = 503
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Every change that was answered well is on the audit's record, once and with its answer; acts on their server's too. */
export function compareTrails(snapshot: Snapshot, record: RunRecord): readonly Wrong[] {
  const audit = auditOf(snapshot)
  const actions = new Set(
    snapshot.gateway.actions.map(({ serverId, requestId }) => `${serverId} ${requestId}`),
  )
  const servers = new Set(snapshot.api.servers.map(({ id }) => id))
  const wrongTrails = (entry: Entry) => [
    ...wrongAudit(entry, audit.get(entry.requestId) ?? []),
    ...(entry.act !== undefined && servers.has(entry.act.serverId) ? wrongAct(entry, actions) : []),
  ]
  return record.entries.flatMap((entry) => [
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

function wrongAudit(entry: Entry, statuses: readonly number[]): Wrong[] {
  if (!isAudited(entry)) return []
  const { method, path, status, requestId } = entry
  const what = `${method} ${path}, answered ${status},`
  const wrong = (text: string): Wrong[] => [{ kind: 'unrecorded', text, requests: [requestId] }]
  if (statuses.length === 0) return wrong(`${what} is not on the audit's record`)
  if (statuses.length > 1) return wrong(`${what} is on the audit's record ${statuses.length} times`)
  return statuses[0] === status ? [] : wrong(`${what} is on the audit's record with ${statuses[0]}`)
}

/** A user who logs in has no token yet, and is recorded without a name. */
function isAudited({ method, path }: Entry): boolean {
  return !READING.has(method) && !path.endsWith('/auth/tokens')
}

function wrongAct({ act, requestId, status }: Entry, actions: ReadonlySet<string>): Wrong[] {
  if (act === undefined || actions.has(`${act.serverId} ${requestId}`)) return []
  const text = `${act.name} of server ${act.serverId}, answered ${status}, is not among its actions`
  return [{ kind: 'unrecorded', text, requests: [requestId] }]
}
