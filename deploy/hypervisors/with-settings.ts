import { Failure } from '#common/errors.ts'
import type { ChosenDriver } from '../deployment/state.ts'

/**
 * The driver with an operator's settings of its hosts. Throws `invalid` for a driver without settings, and where a
 * required one is missing.
 */
export function withSettings(
  driver: ChosenDriver,
  settings: Readonly<Record<string, string>>,
): ChosenDriver {
  if (driver.name !== 'baremetal') {
    if (Object.keys(settings).length === 0) return driver
    throw new Failure('invalid', `Hosts of driver ${driver.name} take no --set.`)
  }
  if (settings['boot_url'] !== undefined) return { ...driver, settings }
  throw new Failure(
    'invalid',
    'Set the URL under which machines reach this host: --set boot_url=http://ADDRESS:8480',
  )
}
