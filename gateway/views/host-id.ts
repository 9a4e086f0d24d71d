import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'

const known = new LRUCache<string, string>({ max: 10_000 })

/** The text that a project's users see instead of a host's name: the same for all their servers on it (Nova's SHA-224). */
export function hostIdOf(projectId: string, host: string | null): string {
  if (host === null) return ''
  const key = projectId + host
  const hit = known.get(key)
  if (hit !== undefined) return hit
  const made = hash('sha224', key, 'hex')
  known.set(key, made)
  return made
}
