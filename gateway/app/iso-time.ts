import { Failure } from '#common/errors.ts'

const PARTS =
  /^(?<date>\d{4}-\d\d-\d\d)(?:[Tt ](?<clock>\d\d:\d\d(?::\d\d)?)(?:[.,](?<fraction>\d{1,9}))?(?<zone>[Zz]|[+-]\d\d:?\d\d)?)?$/

/** The instant an ISO 8601 text means, UTC where it names no zone, as Nova reads it. Throws `invalid`. */
export function parseIsoTime(text: string, what: string): Date {
  const parts = PARTS.exec(text)?.groups
  if (parts !== undefined) {
    const { date, clock = '00:00', fraction = '0', zone = 'Z' } = parts
    const seconds = clock.length === 5 ? `${clock}:00` : clock.replace(/:60$/, ':59')
    const at = new Date(`${date}T${seconds}.${fraction.slice(0, 3)}${withColon(zone)}`)
    if (!Number.isNaN(at.getTime())) return at
  }
  throw new Failure(
    'invalid',
    `Invalid ${what}: '${text}' is not a time such as 2026-01-31T12:00:00Z.`,
  )
}

function withColon(zone: string): string {
  return zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase()
}
