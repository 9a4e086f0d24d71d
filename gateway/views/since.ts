import { compareMicroversions, type Microversion } from '#openapi/microversions.ts'

/** True when a request is in this microversion or a newer one. Only for what differs in behaviour: shapes are pruned. */
export function isSince(asked: { readonly microversion: string }, version: Microversion): boolean {
  return compareMicroversions(asked.microversion as Microversion, version) >= 0
}
