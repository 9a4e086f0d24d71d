import { Failure } from '#common/errors.ts'

/** A time as clients of Keystone write it: without a zone, UTC is meant. Throws `invalid`, naming the field. */
export function parseKeystoneTime(text: string, field: string): Date {
  const hasZone = /(?:Z|[+-]\d{2}:?\d{2})$/.test(text)
  const time = new Date(hasZone ? text : `${text}Z`)
  if (Number.isNaN(time.getTime()))
    throw new Failure('invalid', `'${field}' is not a time: write it like 2030-01-31T12:00:00.`)
  return time
}
