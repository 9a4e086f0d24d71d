import { settleIn } from '#common/settle-in.ts'
import { untilSignal } from '#common/until-signal.ts'
import { computeFromEnv } from './from-env.ts'

await using _compute = await computeFromEnv(process.env)
settleIn()
await untilSignal()
