import { Failure } from '#common/errors.ts'
import type { Capability, Driver } from '#drivers/driver.ts'

/** An optional part of a driver. Throws `unsupported` where it is not there. */
export function driverPart<C extends Capability>(
  driver: Driver,
  capability: C,
): NonNullable<Driver[C]> {
  const found = driver[capability]
  if (found === undefined)
    throw new Failure(
      'unsupported',
      `Driver '${driver.name}' lacks what this needs: ${capability}.`,
    )
  return found as NonNullable<Driver[C]>
}
