import { isIPv4, isIPv6 } from 'node:net'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { RE2JS } from 're2js'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const SPACE = /\s+/g

/** ISO 8601 as Nova reads it: a date alone, a space for the T and a missing zone (meaning UTC) are accepted. */
const DATE_TIME =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([T ]([01]\d|2[0-3]):[0-5]\d(:([0-5]\d|60)([.,]\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):?[0-5]\d)?)?$/i

/** Line breaks are allowed: command line tools write base64 in lines. */
function isBase64(text: string): boolean {
  const bare = text.replace(SPACE, '')
  return bare.length % 4 === 0 && BASE64.test(bare)
}

/** Patterns from users are matched in linear time, so they are checked against the dialect that promises it. */
function isLinearPattern(text: string): boolean {
  try {
    RE2JS.compile(text)
    return true
  } catch {
    return false
  }
}

/** RFC 3986 has no quote and no backslash; responses are written without looking for them. */
function isUri(text: string): boolean {
  return URL.canParse(text) && !/["\\\s]/.test(text)
}

/** Teaches a validator the formats our documents use. */
export function addFormats(ajv: Ajv2020): void {
  ajv.addFormat('uuid', UUID)
  ajv.addFormat('date-time', DATE_TIME)
  ajv.addFormat('byte', isBase64)
  ajv.addFormat('regex', isLinearPattern)
  ajv.addFormat('ipv4', isIPv4)
  ajv.addFormat('ipv6', isIPv6)
  ajv.addFormat('uri', isUri)
  for (const annotation of ['password', 'int32', 'int64', 'float', 'double', 'binary'])
    ajv.addFormat(annotation, true)
}
