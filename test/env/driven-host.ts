import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type ComputeConfig, configFromEnv } from '#cells/compute/config.ts'
import { startCompute } from '#cells/compute/context.ts'
import { ImageClient } from '#cells/images/image-client.ts'
import { waitFor } from '#common/wait-for.ts'
import type { DriverName } from '#drivers/driver.ts'
import { createDriver } from '#drivers/registry.ts'
import type { Cloud } from './cloud.ts'

/** More than the minute after which a host repeats a report that no cell received. */
const READY_MS = 90_000

export interface DrivenHost extends AsyncDisposable {
  readonly id: string
  readonly name: string
  /** Its own at the bus. */
  readonly credentialsFile: string
  /** Its process ends, and keeps what it has on disk. */
  stop(): Promise<void>
  /** It is there again as it was. */
  start(): Promise<void>
}

/** Another host of a cell, or of the cloud's first one, of any driver; up once this resolves. `id`: as OVN knows it. */
export async function startDrivenHost(
  cloud: Cloud,
  driver: DriverName,
  settings: Readonly<Record<string, string>>,
  id: string = randomUUID(),
  cell = cloud.cells[0],
): Promise<DrivenHost> {
  const { services, bus, directory } = cloud.foundation
  if (cell === undefined) throw new Error('The cloud has no cell')
  const name = `${driver}-${id.slice(0, 8)}`
  const credentialsFile = await bus.computeCredentialsFile(cell.id, id)
  const config = configFromEnv({
    COMPUTE_CELL_ID: cell.id,
    COMPUTE_HOST_ID: id,
    COMPUTE_HOST_NAME: name,
    COMPUTE_NATS_URL: services.natsUrl,
    COMPUTE_NATS_CREDENTIALS_FILE: credentialsFile,
    COMPUTE_IMAGE_URL: cloud.endpoints.map((endpoint) => `${endpoint}/image`).join(','),
    COMPUTE_STATE_DIRECTORY: join(directory, name),
    COMPUTE_DRIVER: driver,
    COMPUTE_LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'error',
    ...Object.fromEntries(
      Object.entries(settings).map(([key, value]) => [
        `COMPUTE_DRIVER_${key.toUpperCase()}`,
        value,
      ]),
    ),
  })
  let running = await run(config, driver)
  const stop = () => running.disposeAsync()
  try {
    await waitFor(`${name} to be up`, () => isUp(cloud, name), READY_MS)
  } catch (error) {
    await stop()
    throw error
  }
  const start = async () => {
    running = await run(config, driver)
  }
  return { id, name, credentialsFile, stop, start, [Symbol.asyncDispose]: stop }
}

async function run(config: ComputeConfig, driver: DriverName): Promise<AsyncDisposableStack> {
  await using owned = new AsyncDisposableStack()
  const images = owned.use(new ImageClient(config.imageUrls))
  owned.use(
    await startCompute(config, {
      images,
      createDriver: (environment, log) =>
        createDriver(driver, environment, config.driverSettings, log),
    }),
  )
  return owned.move()
}

async function isUp(cloud: Cloud, name: string): Promise<boolean> {
  type Services = {
    readonly services: readonly { readonly host: string; readonly state: string }[]
  }
  const path = '/compute/v2.1/os-services?binary=nova-compute'
  const { body } = await cloud.as('admin').get<Services>(path)
  return body.services.some(({ host, state }) => host === name && state === 'up')
}
