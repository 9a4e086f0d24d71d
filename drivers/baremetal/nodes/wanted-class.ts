import { Failure } from '#common/errors.ts'
import type { FlavorSpec } from '../../driver.ts'

const CUSTOM_CLASS = /^resources:(CUSTOM_[A-Z0-9_]+)$/

/**
 * The class of machine that a flavor asks for, such as `resources:CUSTOM_GOLD=1` (Nova's "Create flavors for use with
 * the Bare Metal service"). Throws `invalid` for one that asks for none, or for more than one machine.
 */
export function wantedClass({ name, extraSpecs }: FlavorSpec): string {
  const wanted = Object.entries(extraSpecs).flatMap(([key, amount]) => {
    const [, resourceClass] = CUSTOM_CLASS.exec(key) ?? []
    return resourceClass === undefined || amount === '0' ? [] : [{ resourceClass, amount }]
  })
  const [first] = wanted
  if (first !== undefined && wanted.length === 1 && first.amount === '1') return first.resourceClass
  throw new Failure(
    'invalid',
    `Flavor ${name} must ask for one machine, such as by the extra spec resources:CUSTOM_GOLD=1.`,
  )
}
