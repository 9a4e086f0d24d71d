import type { NatsConnection } from '@nats-io/transport-node'
import type { Clock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import { errorChain } from '#common/errors.ts'
import type { Logger } from '#common/log.ts'
import { certificateEnd, credentialEnd } from '#common/metrics/expiry-metrics.ts'
import type { Certificate } from '#common/tls/certificate.ts'
import { withDeadline } from '#common/with-deadline.ts'
import type { GatewayHealth, HealthCheck, HealthState } from '#openapi/wire/health.ts'
import { databaseTime } from '../../db/clock.ts'
import { unreadiness } from '../unreadiness.ts'
import { clockCheck } from './clock-check.ts'

/** The parts of a gateway that it looks at. */
export interface OwnHealthParts {
  readonly db: Database
  readonly nats: Pick<NatsConnection, 'rtt'>
  readonly clock: Clock
  readonly log: Logger
  readonly gateway: string
  readonly release: string
  /** Undefined where it serves no HTTPS. */
  readonly certificate: { readonly current: Certificate } | undefined
  /** By what each is used for; undefined: there is none. */
  readonly credentialFiles: Readonly<Record<string, string | undefined>>
}

const DAY_MS = 86_400_000
/** With less left somebody should look: a certificate is renewed by hand, and a credential at half of its 30 days. */
const CERTIFICATE_SOON_MS = 14 * DAY_MS
const CREDENTIAL_SOON_MS = 5 * DAY_MS
const ANSWER_LIMIT_MS = 2_000

/** What this gateway finds of itself. */
export async function ownHealth(parts: OwnHealthParts): Promise<GatewayHealth> {
  const { gateway, release, clock, certificate, credentialFiles } = parts
  const why = await unreadiness(parts)
  const own: HealthCheck = {
    kind: 'gateway',
    name: gateway,
    status: why === undefined ? 'ok' : 'failed',
    reason: why === undefined ? `release ${release}, ready` : `not ready: ${why}`,
  }
  const now = clock.now()
  const ends = [
    ...(certificate === undefined
      ? []
      : [endCheck('certificate', `${gateway} https`, certificateEnd(certificate.current) - now)]),
    ...Object.entries(credentialFiles).flatMap(([use, file]) => {
      const end = file === undefined ? undefined : credentialEnd(file)
      return end === undefined ? [] : [endCheck('credential', `${gateway} ${use}`, end - now)]
    }),
  ]
  return { gateway, release, checks: [own, await clockOf(parts), ...ends] }
}

/** The time of day here against that of the database, by which rows are kept and leases end. */
async function clockOf({ db, clock, gateway }: OwnHealthParts): Promise<HealthCheck> {
  try {
    const before = clock.now()
    const there = await withDeadline(ANSWER_LIMIT_MS, databaseTime(db))
    // Half of the way there and back.
    return clockCheck(gateway, (before + clock.now()) / 2 - there, 'the database')
  } catch (error) {
    const reason = `cannot be compared with that of the database: ${errorChain(error)}`
    return { kind: 'clock', name: gateway, status: 'failed', reason }
  }
}

function endCheck(kind: 'certificate' | 'credential', name: string, leftMs: number): HealthCheck {
  const soonMs = kind === 'certificate' ? CERTIFICATE_SOON_MS : CREDENTIAL_SOON_MS
  const days = Math.floor(Math.abs(leftMs) / DAY_MS)
  if (leftMs <= 0) return { kind, name, status: 'failed', reason: `ended ${days} days ago` }
  const status: HealthState = leftMs < soonMs ? 'degraded' : 'ok'
  return { kind, name, status, reason: `ends in ${days} days` }
}
