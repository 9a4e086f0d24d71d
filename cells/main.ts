import { untilSignal } from '#common/until-signal.ts'
import { configFromEnv } from './config.ts'
import { startCell } from './context.ts'

const running = await startCell(configFromEnv(process.env))
await untilSignal()
await running[Symbol.asyncDispose]()
