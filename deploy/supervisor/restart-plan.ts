/** A process that has ended since the supervisor began, for people and for `./weir doctor`. */
export interface EndedProcess {
  readonly name: string
  /** How often it has ended, each time within a minute of its last start. */
  readonly deaths: number
  readonly isDown: boolean
  /** Milliseconds since the epoch. */
  readonly lastAt: number
  /** The same; undefined while it runs. */
  readonly nextTryAt: number | undefined
  /** What it wrote last, or why it could not be started. */
  readonly reason: string
}

/** A process that runs for so long after a start is well again. */
const WELL_AFTER_MS = 60_000
const PAUSE_MIN_MS = 1_000
const PAUSE_MAX_MS = 60_000
/** The time for which a restart of a process is reported. */
const REPORTED_FOR_MS = 86_400_000

/** A process of the deployment at one moment. */
export interface Seen {
  readonly name: string
  readonly isAlive: boolean
  /** Another one than before: it ended, and was started, between two looks. */
  readonly pid: number | undefined
}

/** Why a process ended, where that is known. */
export type ReasonOf = (name: string) => string | undefined

const KILLED = 'its log gives no reason, so it was probably killed'

interface Known {
  deaths: number
  isDown: boolean
  lastAt: number
  aliveSince: number
  nextTryAt: number
  reason: string
}

/**
 * When processes that have ended are started again: the first time at once, and after each further death within a
 * minute twice as late, from a second to a minute. All times are milliseconds since the epoch.
 */
export class RestartPlan {
  readonly #known = new Map<string, Known>()
  /** Of processes that ran when they were last seen. */
  readonly #pids = new Map<string, number | undefined>()

  /** Notes which processes do not run now; `reasonOf` is asked for each that has ended since the last time. */
  see(states: readonly Seen[], now: number, reasonOf: ReasonOf): void {
    for (const { name, isAlive, pid } of states) {
      const known = this.#known.get(name)
      const isAnother = this.#pids.has(name) && this.#pids.get(name) !== pid
      if (known?.isDown !== true && (!isAlive || isAnother))
        this.#fell(name, known, now, reasonOf(name) ?? KILLED)
      if (isAlive) this.#seeAlive(this.#known.get(name), now)
      if (isAlive) this.#pids.set(name, pid)
      else this.#pids.delete(name)
    }
    const names = new Set(states.map(({ name }) => name))
    for (const [name, { isDown, lastAt }] of this.#known)
      if (!names.has(name) || (!isDown && now - lastAt > REPORTED_FOR_MS)) this.#known.delete(name)
  }

  /** A command may have stopped processes and started others in their place: those have not ended. */
  forgetPids(): void {
    this.#pids.clear()
  }

  /** True where a process that does not run is to be started now. */
  isDue(now: number): boolean {
    return [...this.#known.values()].some(({ isDown, nextTryAt }) => isDown && nextTryAt <= now)
  }

  /** The names of what does not run, for `tried`. */
  down(): readonly string[] {
    return [...this.#known].filter(([, { isDown }]) => isDown).map(([name]) => name)
  }

  /** A start of these was tried: those that are still down wait longer. */
  tried(names: readonly string[], now: number, reasonOf: ReasonOf): void {
    for (const name of names) {
      const known = this.#known.get(name)
      if (known?.isDown !== true) continue
      known.deaths += 1
      known.lastAt = now
      known.nextTryAt = now + pauseMs(known.deaths)
      known.reason = reasonOf(name) ?? known.reason
    }
  }

  /** Of processes that are down, and of those that were within the last day. */
  endedProcesses(): readonly EndedProcess[] {
    return [...this.#known].map(([name, { deaths, isDown, lastAt, nextTryAt, reason }]) => {
      return { name, deaths, isDown, lastAt, nextTryAt: isDown ? nextTryAt : undefined, reason }
    })
  }

  #seeAlive(known: Known | undefined, now: number): void {
    if (known?.isDown !== true) return
    known.isDown = false
    known.aliveSince = now
  }

  #fell(name: string, known: Known | undefined, now: number, reason: string): void {
    const isAgain = known !== undefined && now - known.aliveSince < WELL_AFTER_MS
    const deaths = isAgain ? known.deaths + 1 : 1
    const nextTryAt = now + pauseMs(deaths)
    this.#known.set(name, { deaths, isDown: true, lastAt: now, aliveSince: now, nextTryAt, reason })
  }
}

function pauseMs(deaths: number): number {
  return deaths <= 1 ? 0 : Math.min(PAUSE_MIN_MS * 2 ** (deaths - 2), PAUSE_MAX_MS)
}
