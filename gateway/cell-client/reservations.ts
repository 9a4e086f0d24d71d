import type { Clock } from '#common/clock.ts'
import type { BuildClaim } from '#openapi/wire/cell.ts'
import type { CellHeartbeat } from '#openapi/wire/feed.ts'
import type { Resources } from './cell.ts'

/** What a summary says of the claims that it counts, and who sends it. */
export type CountedClaims = Pick<CellHeartbeat, 'processId' | 'claims'>

const NOTHING: Resources = { vcpus: 0, memoryMb: 0, diskGb: 0 }
/** Each process of a cell reads once a second what the others have claimed. */
const READ_BY_SIBLINGS_MS = 1_500

/** Room for one server in a cell, which this gateway counts as taken until a summary of the cell does. */
export class Reservation {
  readonly resources: Resources
  readonly #owner: Reservations
  /** Undefined: the cell has not answered yet. `claim` undefined: it did not say which claim it made. */
  #answer: { readonly claim: BuildClaim | undefined; readonly elapsedAt: number } | undefined

  constructor(owner: Reservations, resources: Resources) {
    this.#owner = owner
    this.resources = resources
  }

  get answer() {
    return this.#answer
  }

  /** The cell has answered, or nothing is known of that any more; `claim`: the one that it made. Only the first answer counts. */
  answered(claim?: BuildClaim): void {
    this.#answer ??= { claim, elapsedAt: this.#owner.elapsed() }
    this.#owner.recount(this)
  }

  /** The server does not go to the cell. */
  cancel(): void {
    this.#owner.remove(this)
  }
}

/** What this gateway has assigned to a cell and the summary of the cell does not have yet. */
export class Reservations {
  readonly #clock: Pick<Clock, 'elapsed'>
  /** With whether its resources are counted here. */
  readonly #all = new Map<Reservation, boolean>()
  #summary: CountedClaims = {}
  #resources = NOTHING
  #servers = 0

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  get resources(): Resources {
    return this.#resources
  }

  /** For how many servers. */
  get servers(): number {
    return this.#servers
  }

  elapsed(): number {
    return this.#clock.elapsed()
  }

  add(resources: Resources): Reservation {
    const reservation = new Reservation(this, resources)
    this.#all.set(reservation, true)
    this.#count(resources, 1)
    return reservation
  }

  remove(reservation: Reservation): void {
    if (this.#all.get(reservation) === true) this.#count(reservation.resources, -1)
    this.#all.delete(reservation)
  }

  /** After an answer that may tell that the last summary has the server already. */
  recount(reservation: Reservation): void {
    if (this.#all.has(reservation) && reservation.answer?.claim !== undefined)
      this.#settle(reservation)
  }

  /** A summary has come. */
  summarized(summary: CountedClaims): void {
    this.#summary = summary
    for (const reservation of this.#all.keys()) {
      if (reservation.answer === undefined) continue
      if (this.#isReadByAll(reservation)) this.remove(reservation)
      else this.#settle(reservation)
    }
  }

  #settle(reservation: Reservation): void {
    const isCounted = !this.#isInSummary(reservation)
    const wasCounted = this.#all.get(reservation)
    if (isCounted !== wasCounted) this.#count(reservation.resources, isCounted ? 1 : -1)
    this.#all.set(reservation, isCounted)
  }

  /** Claims of the process that sends the summary are in it, by its own count; those of another, once it has read them. */
  #isInSummary({ answer }: Reservation): boolean {
    const { processId, claims } = this.#summary
    const claim = answer?.claim
    if (claim === undefined || claim.processId !== processId || claims === undefined) return false
    return claim.nth <= claims.made && !claims.unread.includes(claim.nth)
  }

  #isReadByAll({ answer }: Reservation): boolean {
    if (answer === undefined) return false
    if (answer.claim === undefined) return true
    return this.#clock.elapsed() - answer.elapsedAt > READ_BY_SIBLINGS_MS
  }

  #count({ vcpus, memoryMb, diskGb }: Resources, sign: 1 | -1): void {
    const before = this.#resources
    this.#servers += sign
    this.#resources = {
      vcpus: before.vcpus + sign * vcpus,
      memoryMb: before.memoryMb + sign * memoryMb,
      diskGb: before.diskGb + sign * diskGb,
    }
  }
}
