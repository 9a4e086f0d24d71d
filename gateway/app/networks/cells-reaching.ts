import type { Network } from '../../db/network.ts'

/** True when all of these NICs, planned or there already, can be had in the cell: each network has a segment in it. */
export function nicsReach(nics: readonly { readonly network: Network }[], cellId: string): boolean {
  return nics.every(({ network }) => network.isEverywhere || network.cellIds.includes(cellId))
}
