import { systemClock } from '#common/clock.ts'
import { createLogger } from '#common/log.ts'
import { trimStartupMemory } from '#common/trim-startup-memory.ts'
import { untilSignal } from '#common/until-signal.ts'
import { layoutIn } from '../deployment/layout.ts'
import { supervise } from './supervise.ts'

trimStartupMemory()
const stop = new AbortController()
void untilSignal().then(() => stop.abort())
await supervise(layoutIn(), systemClock, createLogger('supervisor', 'info'), stop.signal)
// A repair at work ends with this process.
process.exit()
