import type { HostState } from '#cells/scheduler/host-state.ts'
import type { PlacementRequest } from '#cells/scheduler/placement-request.ts'

const BEST_MAX = 10

/**
 * The decision of the default filters and weighers about a plain request, written by hand over typed arrays: no names, no
 * reasons, no choice of filters. What it takes is the floor to which the scheduler is compared.
 */
export class Floor {
  readonly #size: number
  readonly #isUsable: Uint8Array
  readonly #vcpus: Float64Array
  readonly #memoryMb: Float64Array
  readonly #diskGb: Float64Array
  readonly #left: Int32Array

  /** The hosts by name; each runs the image, and is for any project. */
  constructor(hosts: readonly HostState[]) {
    this.#size = hosts.length
    this.#isUsable = Uint8Array.from(hosts, ({ isUp, isDisabled }) => Number(isUp && !isDisabled))
    const free = (amount: 'vcpus' | 'memoryMb' | 'diskGb') =>
      Float64Array.from(hosts, ({ limits, used }) => limits[amount] - used[amount])
    this.#vcpus = free('vcpus')
    this.#memoryMb = free('memoryMb')
    this.#diskGb = free('diskGb')
    this.#left = new Int32Array(hosts.length)
  }

  /** The places of the best hosts, best first. */
  best({ resources: { vcpus, memoryMb, diskGb } }: PlacementRequest): readonly number[] {
    const left = this.#left
    let count = 0
    let [cpuLow, ramLow, diskLow] = [Infinity, Infinity, Infinity]
    let [cpuHigh, ramHigh, diskHigh] = [-Infinity, -Infinity, -Infinity]
    for (let place = 0; place < this.#size; place += 1) {
      const [cpu, ram, disk] = [this.#vcpus[place]!, this.#memoryMb[place]!, this.#diskGb[place]!]
      if (this.#isUsable[place] === 0 || cpu < vcpus || ram < memoryMb || disk < diskGb) continue
      left[count] = place
      count += 1
      if (cpu < cpuLow) cpuLow = cpu
      if (cpu > cpuHigh) cpuHigh = cpu
      if (ram < ramLow) ramLow = ram
      if (ram > ramHigh) ramHigh = ram
      if (disk < diskLow) diskLow = disk
      if (disk > diskHigh) diskHigh = disk
    }
    const factor = (low: number, high: number) => (high > low ? 1 / (high - low) : 0)
    const cpuFactor = factor(cpuLow, cpuHigh)
    const ramFactor = factor(ramLow, ramHigh)
    const diskFactor = factor(diskLow, diskHigh)
    const best: number[] = []
    const scores: number[] = []
    for (let nth = 0; nth < count; nth += 1) {
      const place = left[nth]!
      const score =
        (this.#memoryMb[place]! - ramLow) * ramFactor +
        (this.#vcpus[place]! - cpuLow) * cpuFactor +
        (this.#diskGb[place]! - diskLow) * diskFactor
      if (best.length === BEST_MAX && score <= scores[BEST_MAX - 1]!) continue
      let rank = best.length
      while (rank > 0 && score > scores[rank - 1]!) rank -= 1
      best.splice(rank, 0, place)
      scores.splice(rank, 0, score)
      if (best.length > BEST_MAX) {
        best.pop()
        scores.pop()
      }
    }
    return best
  }

  /** Afterwards the host has so much less. */
  take(place: number, { resources: { vcpus, memoryMb, diskGb } }: PlacementRequest): void {
    this.#vcpus[place] = this.#vcpus[place]! - vcpus
    this.#memoryMb[place] = this.#memoryMb[place]! - memoryMb
    this.#diskGb[place] = this.#diskGb[place]! - diskGb
  }
}
