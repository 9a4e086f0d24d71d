import type { WorkKind } from '../app/admission.ts'
import type { Endpoint } from './endpoint.ts'

/** A page of more entries is a long list. */
const SHORT_LIST = 100
/** Reads that ask a cell or a host, and wait as long as it takes to answer. */
const ASKING: ReadonlySet<string> = new Set([
  'listServerMigrations',
  'showServerMigration',
  'showServerDiagnostics',
  'showHypervisorUptime',
])
const LIMIT = /[?&]limit=(\d+)/

/** What a request costs, as far as its path and query show. */
export function workKind({ service, method, single }: Endpoint, search: string): WorkKind {
  if (single === undefined) return 'other'
  const { operation } = single
  if (operation.id === 'createServer') return 'boot'
  if (method !== 'GET' || ASKING.has(operation.id)) return 'other'
  if (operation.isPaged && isLong(search)) return 'list'
  return service.name === 'federation' ? 'other' : 'read'
}

/** Without a limit, and with 0, a page is as long as it may be. */
function isLong(search: string): boolean {
  const limit = Number(LIMIT.exec(search)?.[1] ?? 0)
  return limit === 0 || limit > SHORT_LIST
}
