import { HttpRefusal } from './http-refusal.ts'

/** False when an If-None-Match header names this entity tag, so that the client has the thing already. */
export function isNoneMatch(header: string | undefined, tag: string): boolean {
  if (header === undefined) return true
  return !names(header, tag)
}

/** Throws 412 when an If-Match header is there and does not name this entity tag: the thing has changed since. */
export function requireMatch(header: string | undefined, tag: string): void {
  if (header === undefined || names(header, tag)) return
  throw new HttpRefusal(
    412,
    `It has changed: its ETag is ${tag} now. Read it again, and repeat the change if it still applies.`,
  )
}

function names(header: string, tag: string): boolean {
  const named = header.split(',').map((each) => each.trim().replace(/^W\//, ''))
  return named.includes(tag) || named.includes('*')
}
