import { untilSignal } from '#common/until-signal.ts'
import { configFromEnv } from './config.ts'
import { startCell } from './context.ts'

await using running = await startCell(configFromEnv(process.env))
await untilSignal()
running.cell.conductor.log.info('cell stops')
