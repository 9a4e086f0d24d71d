import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { configFromEnv } from '#cells/compute/config.ts'
import { startCompute } from '#cells/compute/context.ts'
import { ImageClient } from '#cells/images/image-client.ts'
import type { Driver, DriverEnvironment } from '#drivers/driver.ts'
import { createFakeDriver } from '#drivers/fake/driver.ts'
import { fakeSettings } from '#drivers/fake/settings.ts'
import { ImageCache } from '#drivers/image-cache.ts'
import type { Cloud, CloudCell } from './cloud.ts'

/**
 * Adds a simulated host, in a zone of its own name, that fetches the images of its guests at the cell's caches and at this image
 * service, as real ones do. It stops when it is disposed. `id`: of a host that has stopped, and starts again.
 */
export async function addFetchingHost(
  cloud: Cloud,
  cell: CloudCell,
  name: string,
  imageUrl: string,
  id: string = randomUUID(),
): Promise<AsyncDisposable> {
  await using owned = new AsyncDisposableStack()
  const { services, bus } = cloud.foundation
  const folder = mkdtempSync(join(tmpdir(), `weir-${name}-`))
  owned.defer(() => rmSync(folder, { recursive: true, force: true }))
  const config = configFromEnv({
    COMPUTE_CELL_ID: cell.id,
    COMPUTE_HOST_ID: id,
    COMPUTE_HOST_NAME: name,
    COMPUTE_ZONE: name,
    COMPUTE_NATS_URL: services.natsUrl,
    COMPUTE_NATS_CREDENTIALS_FILE: await bus.computeCredentialsFile(cell.id, id),
    COMPUTE_IMAGE_URL: imageUrl,
    COMPUTE_STATE_DIRECTORY: join(folder, 'state'),
    COMPUTE_DRIVER: 'fake',
    COMPUTE_LOG_LEVEL: 'error',
  })
  const images = owned.use(new ImageClient(config.imageUrls))
  const files = new ImageCache(join(folder, 'images'), images)
  await files.prepare()
  const createDriver = async (environment: DriverEnvironment) => {
    const driver = createFakeDriver(environment, fakeSettings({ hostname: name }))
    const spawn = driver.spawn.bind(driver)
    return Object.assign(driver, {
      spawn: async (...[spec, signal]: Parameters<Driver['spawn']>) => {
        await files.path(spec.image, signal)
        return spawn(spec, signal)
      },
    })
  }
  owned.use(await startCompute(config, { images, createDriver }))
  return owned.move()
}

/** How many hosts are up in all cells. */
export async function hostsUp(cloud: Cloud): Promise<number> {
  const path = '/compute/v2.1/os-services?binary=nova-compute'
  type Services = { readonly services: readonly { readonly state: string }[] }
  const { body } = await cloud.as('admin').get<Services>(path)
  return body.services.filter(({ state }) => state === 'up').length
}
