import { SettingsError } from '#common/env.ts'
/**
 * The amounts of further resource classes of Placement, from pairs such as `PCPU=8`. Throws an error that names the
 * invalid pair.
 */
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
