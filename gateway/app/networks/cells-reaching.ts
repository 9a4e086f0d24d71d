import type { Network } from '../../db/network.ts'

/** True if the cell can have all of these NICs, planned or existing: each network has a segment in it. */
export function nicsReach(nics: readonly { readonly network: Network }[], cellId: string): boolean {
  return nics.every(({ network }) => network.isEverywhere || network.cellIds.includes(cellId))
}
