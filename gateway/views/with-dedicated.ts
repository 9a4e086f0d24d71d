import { DEDICATED_CPUS } from '#common/hardware-resources.ts'

/** CPUs that are shared and those that are not, which Placement counts apart and Nova's API shows together. */
export function withDedicated(
  shared: number,
  further: Readonly<Record<string, number>> = {},
): number {
  return shared + (further[DEDICATED_CPUS] ?? 0)
}
