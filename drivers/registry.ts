import type { Logger } from '#common/log.ts'
import type { Driver, DriverEnvironment, DriverName } from './driver.ts'

type Settings = Readonly<Record<string, string>>
type Factory = (
  environment: DriverEnvironment,
  settings: Settings,
  logger: Logger | undefined,
) => Promise<Driver>

/** Each driver is loaded when it is first used: loading all would dominate the start of a compute. */
const FACTORIES: Readonly<Record<DriverName, () => Promise<Factory>>> = {
  baremetal: async () => {
    const { createBaremetalDriver } = await import('./baremetal/driver.ts')
    const { baremetalSettings } = await import('./baremetal/settings.ts')
    return (environment, settings, logger) =>
      createBaremetalDriver(environment, baremetalSettings(settings), logger)
  },
  docker: async () => {
    const { createDockerDriver } = await import('./docker/driver.ts')
    const { dockerSettings } = await import('./docker/settings.ts')
    return (environment, settings, logger) =>
      createDockerDriver(environment, dockerSettings(settings), logger)
  },
  fake: async () => {
    const { createFakeDriver } = await import('./fake/driver.ts')
    const { fakeSettings } = await import('./fake/settings.ts')
    return async (environment, settings) => createFakeDriver(environment, fakeSettings(settings))
  },
  ironic: async () => {
    const { createIronicDriver } = await import('./ironic/driver.ts')
    const { ironicSettings } = await import('./ironic/settings.ts')
    return (environment, settings, logger) =>
      createIronicDriver(environment, ironicSettings(settings), logger)
  },
  libvirt: async () => {
    const { createLibvirtDriver } = await import('./libvirt/driver.ts')
    const { libvirtSettings } = await import('./libvirt/settings.ts')
    return (environment, settings, logger) =>
      createLibvirtDriver(environment, libvirtSettings(settings), logger)
  },
  nested: async () => {
    const { createNestedDriver } = await import('./nested/driver.ts')
    const { nestedSettings } = await import('./nested/settings.ts')
    return (environment, settings, logger) =>
      createNestedDriver(environment, nestedSettings(settings), logger)
  },
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
  const create = await FACTORIES[name]()
  return create(environment, settings, logger)
}
