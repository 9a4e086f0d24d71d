import { Failure } from '#common/errors.ts'
import type { Capability, Driver } from '#drivers/driver.ts'

/** An optional part of a driver. Throws `unsupported` if the driver lacks it. */
export function driverPart<C extends Capability>(
  driver: Driver,
  capability: C,
): NonNullable<Driver[C]> {
  const found = driver[capability]
  if (found === undefined)
    throw new Failure(
      'unsupported',
      `Driver '${driver.name}' lacks the ability '${capability}', which this request needs.`,
    )
  return found as NonNullable<Driver[C]>
}
