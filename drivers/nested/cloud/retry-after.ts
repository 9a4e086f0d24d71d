import type { Sent } from './session.ts'

const WAIT_DEFAULT_MS = 5_000
const WAIT_MAX_MS = 120_000

/**
 * How long an overloaded cloud asks its clients to wait; undefined if it accepted the request. Nova and its proxies
 * used 413 for this before 429 existed; without a time, or with none to wait, 413 means "too large" or, of Cinder, a quota.
 */
export function retryAfterMs({
  status,
  headers,
}: Pick<Sent, 'status' | 'headers'>): number | undefined {
  const value = headers['retry-after']
  if (status !== 429 && (status !== 413 || value === undefined || value === '0')) return undefined
  const text = String(value ?? '')
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now()
  return Number.isNaN(waitMs) ? WAIT_DEFAULT_MS : Math.min(Math.max(waitMs, 0), WAIT_MAX_MS)
}
