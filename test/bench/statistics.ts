/** The value below which `part` (0 to 1) of the values lie: the nearest rank, so always one of them. NaN of nothing. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = Float64Array.from(values).sort()
  const rank = Math.ceil(part * sorted.length) - 1
  return sorted[Math.min(Math.max(rank, 0), sorted.length - 1)] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

/**
 * How the product compares with the floor when both were measured in turns: the median of the ratios of neighbouring
 * runs, because on a shared machine neighbours in time are disturbed alike and the whole run is not.
 */
export function pairedRatio(product: readonly number[], floor: readonly number[]): number {
  return median(product.slice(0, floor.length).map((value, round) => value / floor[round]!))
}
