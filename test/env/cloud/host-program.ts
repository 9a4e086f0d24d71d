import { join } from 'node:path'
import { configFromEnv } from '#cells/compute/config.ts'
import { startCompute } from '#cells/compute/context.ts'
import { ImageClient } from '#cells/images/image-client.ts'
import type { FakeDriver } from '#drivers/fake/driver.ts'
import { createFakeDriver } from '#drivers/fake/driver.ts'
import { fakeSettings } from '#drivers/fake/settings.ts'
import type { CellPlan, Foundation, HostPlan } from './foundation.ts'
import type { CloudOptions } from './options.ts'
import type { Program } from './program.ts'

/** A host's compute on the fake driver. `onStart` is given the driver each time it starts. */
export async function hostProgram(
  { services, bus, directory }: Foundation,
  options: CloudOptions,
  of: { readonly cell: CellPlan; readonly host: HostPlan; readonly imageUrl: string },
  onStart: (driver: FakeDriver) => void,
): Promise<Program> {
  const { cell, host, imageUrl } = of
  return {
    name: host.name,
    script: 'cells/compute/main.ts',
    settings: {
      COMPUTE_CELL_ID: cell.id,
      COMPUTE_HOST_ID: host.id,
      COMPUTE_HOST_NAME: host.name,
      COMPUTE_NATS_URL: services.natsUrl,
      COMPUTE_NATS_CREDENTIALS_FILE: await bus.computeCredentialsFile(cell.id, host.id),
      COMPUTE_IMAGE_URL: imageUrl,
      COMPUTE_STATE_DIRECTORY: join(directory, host.name),
      COMPUTE_DRIVER: 'fake',
      COMPUTE_DRIVER_HOSTNAME: host.name,
      COMPUTE_DRIVER_VOLUME_STORE: join(directory, `volumes-${cell.name}`),
      COMPUTE_LOG_LEVEL: 'error',
      ...options.compute,
      ...Object.fromEntries(
        Object.entries({ ...options.driver, ...options.driverOf?.[host.name] }).map(
          ([name, value]) => [`COMPUTE_DRIVER_${name.toUpperCase()}`, value],
        ),
      ),
    },
    wires: ['COMPUTE_NATS_URL'],
    inside: async (env) => {
      const config = configFromEnv(env)
      await using owned = new AsyncDisposableStack()
      const images = owned.use(new ImageClient(config.imageUrls))
      const compute = await startCompute(config, {
        images,
        createDriver: (environment) => {
          const driver = createFakeDriver(environment, fakeSettings(config.driverSettings))
          options.onDriver?.(driver)
          onStart(driver)
          return Promise.resolve(driver)
        },
      })
      owned.use(compute)
      return owned.move()
    },
    serves: 'compute serves',
  }
}
