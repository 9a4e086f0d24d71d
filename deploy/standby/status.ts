import { askSite, type OwnSite, recordedAt } from './own-site.ts'
import {
  committedPosition,
  onServer,
  type Replication,
  replicationOf,
  transactionsBetween,
} from './replication.ts'

export interface StandbyStatus {
  readonly site: string
  readonly state: 'active' | 'standby' | 'stepped-down' | 'empty'
  readonly generation: number | null
  /** Of the sites that are known, by name. */
  readonly sites: readonly {
    readonly name: string
    readonly url: string
    /** What its gateways say. */
    readonly says: 'active' | 'standby' | 'no answer'
  }[]
  readonly replication: (Omit<Replication, 'unappliedTransactions'> & LagTransactions) | null
  /** Why this site could not be promoted now; null where it could, if the active site were stopped. */
  readonly obstacle: string | null
}

interface LagTransactions {
  /** Committed at the active site and not here; where that does not answer: received and not applied. */
  readonly lagTransactions: number
}

/** How this site stands, and how far its database is behind. Changes nothing. */
export async function standbyStatus(own: OwnSite): Promise<StandbyStatus> {
  const { active, sites } = await recordedAt(own)
  const state =
    active === undefined
      ? 'empty'
      : active.successor !== undefined
        ? 'stepped-down'
        : active.name === own.name
          ? 'active'
          : 'standby'
  const server = new URL(own.databaseUrl)
  server.pathname = ''
  const replication = await onServer(server.href, async (connection) => {
    const found = await replicationOf(connection)
    return found && withLag(own, found)
  })
  return {
    site: own.name,
    state,
    generation: active?.generation ?? null,
    sites: await Promise.all(
      sites.map(async ({ name, url }) => {
        const said = await askSite(own, { url })
        return {
          name,
          url,
          says: said === undefined ? 'no answer' : said.isActive ? 'active' : 'standby',
        }
      }),
    ),
    replication: replication ?? null,
    obstacle: obstacleOf(state, replication),
  }
}

async function withLag(
  own: OwnSite,
  { unappliedTransactions, ...replication }: Replication,
): Promise<Omit<Replication, 'unappliedTransactions'> & LagTransactions> {
  const lagTransactions = await onServer(own.urlAt(replication.source), committedPosition)
    .then(async (committed) => {
      const applied = await onServer(own.databaseUrl, async (connection) => {
        const [[row]] = (await connection.query(
          'SELECT @@global.gtid_slave_pos AS p',
        )) as never as [[{ readonly p: string }]]
        return row.p
      })
      return transactionsBetween(applied, committed)
    })
    .catch(() => unappliedTransactions)
  return { ...replication, lagTransactions }
}

function obstacleOf(
  state: StandbyStatus['state'],
  replication: Pick<Replication, 'isApplying' | 'error'> | undefined,
): string | null {
  if (state === 'active') return 'It is active.'
  if (replication === undefined) return 'Its database follows no other. Run: ./weir standby follow'
  if (replication.isApplying) return null
  return `Its database cannot apply a change: ${replication.error ?? 'the replication was stopped'}. Run: ./weir standby follow`
}
