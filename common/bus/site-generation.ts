import type { NatsConnection } from '@nats-io/transport-node'
import { Failure } from '../errors.ts'

/** Of a deployment in which no site was ever promoted, and of a program that says none. */
export const FIRST_GENERATION = 1

const stamps = new WeakMap<NatsConnection, number>()

/** From now on every request on this connection names the generation of the site that sends it. */
export function stampGeneration(nats: NatsConnection, generation: number): void {
  stamps.set(nats, generation)
}

/** Undefined for a connection that was given none: that of a cell or host. */
export function generationOf(nats: NatsConnection): number | undefined {
  return stamps.get(nats)
}

/** Throws `unavailable`, as a recipient that did nothing, for a request of a site that another one has succeeded. */
export function refuseFormerSite(asked: number, known: number): void {
  if (asked >= known) return
  throw new Failure(
    'unavailable',
    `Another site has been promoted: it has generation ${known}, and the gateway that asks ${asked}.`,
  )
}

/** Remembers the highest generation of any request, as long as the process runs, and refuses lower ones. */
export function generationGate(): (asked: number) => void {
  let known = FIRST_GENERATION
  return (asked) => {
    refuseFormerSite(asked, known)
    known = asked
  }
}
