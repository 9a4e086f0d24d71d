import type { Clock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import { settledWithin } from '#common/settled-within.ts'
import { FairQueue } from './fair-queue.ts'
import { TooManyRequests } from './request-limiter.ts'

/**
 * Kinds of requests that cost alike: long lists take memory and the processor, boots transactions, reads a query each;
 * others may wait for a cell.
 */
export const WORK_KINDS = ['list', 'boot', 'read', 'other'] as const
export type WorkKind = (typeof WORK_KINDS)[number]

/** How many requests of each kind a gateway handles at a time. */
export type AdmissionLimits = Readonly<Record<WorkKind, number>>

/** How many may wait for each that may be handled: together fewer than the requests that a gateway takes by default. */
const WAITING_RATIO: AdmissionLimits = { list: 16, boot: 4, read: 2, other: 0.5 }
/** What others find free at once, however much one project asks for. */
const PROJECT_SHARE = 0.75
/** Clients give up after half a minute or a whole one, and should learn before that when to try again. */
const WAIT_MS = 10_000
const RETRY_S = { min: 1, max: 30 } as const
/** The weight of the newest request in the mean duration. */
const NEWEST = 0.05

const NAMES: Readonly<Record<WorkKind, string>> = {
  list: 'long lists',
  boot: 'boots',
  read: 'reads',
  other: 'requests',
}

interface Lane {
  readonly kind: WorkKind
  readonly queue: FairQueue
  readonly parallelMax: number
  /** How long a request has taken lately, in the mean. */
  meanMs: number
  refused: number
}

/** The connection of a request. */
export interface Connection {
  once(event: 'close', listener: () => void): unknown
  off(event: 'close', listener: () => void): unknown
}

/**
 * Lets each project have its turn in each kind of work. Further requests wait, in bounded number and for a bounded
 * time; the rest are refused at once with `TooManyRequests`.
 */
export class Admission {
  readonly #clock: Clock
  readonly #lanes: Readonly<Record<WorkKind, Lane>>

  constructor(limits: AdmissionLimits, clock: Clock) {
    this.#clock = clock
    const laneOf = (kind: WorkKind): Lane => {
      const parallelMax = limits[kind]
      const waitingMax = Math.ceil(WAITING_RATIO[kind] * parallelMax)
      const queue = new FairQueue({
        parallelMax,
        parallelPerPeerMax: Math.ceil(PROJECT_SHARE * parallelMax),
        waitingMax,
        waitingPerAccountMax: waitingMax,
        refusal: () => this.#refusal(lane),
      })
      const lane: Lane = { kind, queue, parallelMax, meanMs: 0, refused: 0 }
      return lane
    }
    this.#lanes = {
      list: laneOf('list'),
      boot: laneOf('boot'),
      read: laneOf('read'),
      other: laneOf('other'),
    }
  }

  /** Throws `TooManyRequests` for a project whose request of this kind could not even wait now. */
  refuseIfFull(kind: WorkKind, project: string): void {
    const lane = this.#lanes[kind]
    if (!lane.queue.hasPlace({ peer: project, account: project })) throw this.#refusal(lane)
  }

  /**
   * A place for a project's request until it is disposed. Throws `TooManyRequests` where no turn comes in time, and
   * `unavailable` when the connection closes before it has come: the answer would have no reader.
   */
  async take(kind: WorkKind, project: string, connection?: Connection): Promise<Disposable> {
    const lane = this.#lanes[kind]
    const asker = { peer: project, account: project }
    const place = lane.queue.takeNow(asker) ?? (await this.#turn(lane, asker, connection))
    const since = this.#clock.elapsed()
    return {
      [Symbol.dispose]: () => {
        lane.meanMs += NEWEST * (this.#clock.elapsed() - since - lane.meanMs)
        place[Symbol.dispose]()
      },
    }
  }

  /** How many requests are handled, how many wait, and how many were refused since the start. */
  count(kind: WorkKind): {
    readonly running: number
    readonly waiting: number
    readonly refused: number
  } {
    const { queue, refused } = this.#lanes[kind]
    return { running: queue.running, waiting: queue.waiting, refused }
  }

  async #turn(
    lane: Lane,
    asker: { readonly peer: string; readonly account: string },
    connection: Connection | undefined,
  ): Promise<Disposable> {
    const waiting = lane.queue.wait(asker)
    const hungUp = () => waiting.leave(new Failure('unavailable', 'The client has hung up.'))
    connection?.once('close', hungUp)
    try {
      const place = await settledWithin(this.#clock, WAIT_MS, waiting.turn)
      if (place !== undefined) return place
      waiting.leave(this.#refusal(lane))
      return await waiting.turn
    } finally {
      connection?.off('close', hungUp)
    }
  }

  #refusal(lane: Lane): TooManyRequests {
    const { kind, queue, parallelMax, meanMs } = lane
    lane.refused += 1
    const waitMs = (meanMs * (queue.waiting + queue.running)) / parallelMax
    const retryS = Math.min(RETRY_S.max, Math.max(RETRY_S.min, Math.ceil(waitMs / 1_000)))
    return new TooManyRequests(
      `This gateway already handles as many ${NAMES[kind]} as it can. Try again in ${retryS} s.`,
      retryS * 1_000,
    )
  }
}
