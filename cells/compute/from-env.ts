import type { Env } from '#common/env.ts'
import { createDriver } from '#drivers/registry.ts'
import { ImageClient } from '../images/image-client.ts'
import { configFromEnv } from './config.ts'
import { startCompute } from './context.ts'

/** The compute that COMPUTE_* variables describe, with its driver, until disposed. Several may live in one process. */
export async function computeFromEnv(env: Env): Promise<AsyncDisposable> {
  const config = configFromEnv(env)
  await using owned = new AsyncDisposableStack()
  const images = owned.use(new ImageClient(config.imageUrls))
  const { driver, driverSettings } = config
  const compute = await startCompute(config, {
    createDriver: (environment, log) => createDriver(driver, environment, driverSettings, log),
    images,
  })
  owned.use(compute)
  return owned.move()
}
