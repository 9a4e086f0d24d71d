import { SettingsError } from '#common/env.ts'
import { isResourceClass, PROVIDED_CLASSES } from '#common/resource-classes.ts'

const COUNTED: readonly string[] = PROVIDED_CLASSES

/**
 * The amounts of further resource classes of Placement, standard ones or an operator's own, from pairs such as `PCPU=8`. Throws an error that names the
 * invalid pair.
 */
export function resourceAmounts(
  name: string,
  pairs: readonly string[],
): ReadonlyMap<string, number> {
  return new Map(
    pairs.map((pair) => {
      const [resourceClass = '', total = ''] = pair.split('=')
      const isFurther = isResourceClass(resourceClass) && !COUNTED.includes(resourceClass)
      if (!isFurther || !/^\d{1,9}$/.test(total))
        throw new SettingsError([`${name}: ${pair} is not like CUSTOM_GOLD=2`])
      return [resourceClass, Number(total)]
    }),
  )
}
