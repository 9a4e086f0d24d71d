import { SettingsError } from '#common/env.ts'
/** How much there is of further classes of Placement, from `PCPU=8` pairs; throws one error that names a wrong one. */
export function resourceAmounts(
  name: string,
  pairs: readonly string[],
): ReadonlyMap<string, number> {
  return new Map(
    pairs.map((pair) => {
      const [resourceClass = '', total = ''] = pair.split('=')
      if (!/^(?:PCPU|CUSTOM_[A-Z0-9_]+)$/.test(resourceClass) || !/^\d{1,9}$/.test(total))
        throw new SettingsError([`${name}: ${pair} is not like CUSTOM_GOLD=2`])
      return [resourceClass, Number(total)]
    }),
  )
}
