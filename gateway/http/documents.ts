import type { Hono } from 'hono'
import { LRUCache } from 'lru-cache'
import { type Contract, UNVERSIONED } from '#openapi/contract.ts'
import { parseMicroversion } from '#openapi/microversions.ts'
import { faultOf } from './faults.ts'
import { HttpRefusal } from './http-refusal.ts'

/** Projected documents kept as text; one is up to a megabyte. */
const KEPT_MAX = 8

/** `GET /openapi/<name>.json[?microversion=X.Y]`: the plain document of one microversion, for client generators. */
export function registerDocuments(app: Hono, contracts: readonly Contract[]): void {
  const texts = new LRUCache<string, string>({ max: KEPT_MAX })
  for (const contract of contracts) {
    app.get(`/openapi/${contract.name}.json`, (c) => {
      try {
        const text = documentText(contract, c.req.query('microversion'), texts)
        return new Response(text, { headers: { 'Content-Type': 'application/json' } })
      } catch (error) {
        const { body, status } = faultOf(error, 'nova')
        return new Response(body, { status, headers: { 'Content-Type': 'application/json' } })
      }
    })
  }
}

function documentText(
  contract: Contract,
  asked: string | undefined,
  texts: LRUCache<string, string>,
): string {
  const { versions, name } = contract
  const newest = versions.at(-1)
  const version = asked === undefined ? newest : parseMicroversion(asked, newest)
  if (version === undefined || !versions.includes(version))
    throw new HttpRefusal(404, `${name} has no version ${version ?? UNVERSIONED}.`)
  const key = `${name} ${version}`
  const known = texts.get(key)
  if (known !== undefined) return known
  const text = JSON.stringify(contract.document(version))
  texts.set(key, text)
  return text
}
