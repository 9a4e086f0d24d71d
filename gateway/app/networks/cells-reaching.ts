import type { Network } from '../../db/network.ts'

/** True if the cell can have NICs on all of these networks: each has a segment in it. */
export function networksReach(networks: readonly Network[], cellId: string): boolean {
  return networks.every(({ isEverywhere, cellIds }) => isEverywhere || cellIds.includes(cellId))
}
