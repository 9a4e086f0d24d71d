import { untilSignal } from '#common/until-signal.ts'
import { configFromEnv } from './config.ts'
import { createGateway } from './context.ts'
import { listen } from './listen.ts'

const config = configFromEnv(process.env)
await using gateway = await createGateway(config)
await using listening = await listen(gateway)
gateway.log.info({ host: listening.host, port: listening.port }, 'gateway listens')
await untilSignal()
gateway.log.info('gateway stops')
