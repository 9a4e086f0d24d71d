/** False when an If-None-Match header names this entity tag, so that the client has the thing already. */
export function isNoneMatch(header: string | undefined, tag: string): boolean {
  if (header === undefined) return true
  const named = header.split(',').map((each) => each.trim().replace(/^W\//, ''))
  return !named.includes(tag) && !named.includes('*')
}
