import { settleIn } from '#common/settle-in.ts'
import { untilSignal } from '#common/until-signal.ts'
import { createDriver } from '#drivers/registry.ts'
import { configFromEnv } from './config.ts'
import { startCompute } from './context.ts'
import { ImageClient } from './image-client.ts'

const config = configFromEnv(process.env)
await using images = new ImageClient(config.imageUrl)
await using _compute = await startCompute(config, {
  createDriver: (environment, log) =>
    createDriver(config.driver, environment, config.driverSettings, log),
  images,
})
settleIn()
await untilSignal()
