import { withoutTrailing } from '#common/without-trailing.ts'

/** The host name that Nova gives a guest that was not given one: what of its server's name can be one. */
export function derivedHostname(name: string): string {
  const text = name
    .toLowerCase()
    .replace(/[\s_.]+/g, '-')
    .replace(/[^a-z0-9-]/g, '')
    .replace(/^-+/, '')
    .slice(0, 63)
  return withoutTrailing(text, '-')
}
