import type { Resources } from './cell.ts'

const NOTHING: Resources = { vcpus: 0, memoryMb: 0, diskGb: 0 }

/** What this gateway has assigned to a cell and the summary of the cell does not have yet. */
export class Reservations {
  #resources = NOTHING
  #servers = 0
  /** Those that the next summary has. */
  #answered: Resources[] = []

  get resources(): Resources {
    return this.#resources
  }

  /** For how many servers. */
  get servers(): number {
    return this.#servers
  }

  /** Counts the resources of a server until the first summary after `answered`, or the next one. */
  add(resources: Resources, answered?: Promise<unknown>): void {
    this.#count(resources, 1)
    const isKnown = () => {
      this.#answered.push(resources)
    }
    if (answered === undefined) isKnown()
    else void answered.then(isKnown, isKnown)
  }

  /** A summary has come. */
  summarized(): void {
    for (const resources of this.#answered) this.#count(resources, -1)
    this.#answered = []
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
