import type { Logger } from '#common/log.ts'
import { createBaremetalDriver } from './baremetal/driver.ts'
import { baremetalSettings } from './baremetal/settings.ts'
import { createDockerDriver } from './docker/driver.ts'
import { dockerSettings } from './docker/settings.ts'
import type { Driver, DriverEnvironment, DriverName } from './driver.ts'
import { createFakeDriver } from './fake/driver.ts'
import { fakeSettings } from './fake/settings.ts'
import { createIronicDriver } from './ironic/driver.ts'
import { ironicSettings } from './ironic/settings.ts'
import { createLibvirtDriver } from './libvirt/driver.ts'
import { libvirtSettings } from './libvirt/settings.ts'
import { createNestedDriver } from './nested/driver.ts'
import { nestedSettings } from './nested/settings.ts'

type Settings = Readonly<Record<string, string>>
type Factory = (
  environment: DriverEnvironment,
  settings: Settings,
  logger: Logger | undefined,
) => Promise<Driver>

const FACTORIES: Readonly<Record<DriverName, Factory>> = {
  baremetal: (environment, settings, logger) =>
    createBaremetalDriver(environment, baremetalSettings(settings), logger),
  docker: (environment, settings, logger) =>
    createDockerDriver(environment, dockerSettings(settings), logger),
  fake: async (environment, settings) => createFakeDriver(environment, fakeSettings(settings)),
  ironic: (environment, settings, logger) =>
    createIronicDriver(environment, ironicSettings(settings), logger),
  libvirt: (environment, settings, logger) =>
    createLibvirtDriver(environment, libvirtSettings(settings), logger),
  nested: (environment, settings, logger) =>
    createNestedDriver(environment, nestedSettings(settings), logger),
}

/**
 * The driver of a host, by name, from settings as they stand in a configuration (`virt_type`, `memory_mb`, …).
 * Throws one error that names every setting that is unknown or wrong.
 */
export async function createDriver(
  name: DriverName,
  environment: DriverEnvironment,
  settings: Settings = {},
  logger?: Logger,
): Promise<Driver> {
  return FACTORIES[name](environment, settings, logger)
}
