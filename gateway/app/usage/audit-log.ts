import type { Clock } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { listHosts } from '../../db/host-list.ts'

/** The audit of one month. None ever runs here: use is read from the servers themselves. */
export interface UsageAudit {
  readonly from: Date
  readonly to: Date
  /** Names of all hosts, none of which has run an audit. */
  readonly hosts: readonly string[]
}

const TIME = /^(\d{4})-(\d\d)-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?$/

/** The last whole month before a time (absent: now). Throws `invalid` for text that is not a time. */
export async function usageAudit(
  { db, clock }: { readonly db: Executor; readonly clock: Clock },
  before?: string,
): Promise<UsageAudit> {
  const at = before === undefined ? new Date(clock.now()) : timeOf(before)
  const to = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth()))
  const from = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - 1))
  const hosts = (await listHosts(db)).map(({ view }) => view.name)
  return { from, to, hosts: [...new Set(hosts)] }
}

function timeOf(text: string): Date {
  const at = TIME.test(text) ? new Date(`${text.replace(' ', 'T')}Z`) : undefined
  if (at !== undefined && !Number.isNaN(at.getTime())) return at
  throw new Failure('invalid', `Invalid timestamp for date ${text}`)
}
