import { untilSignal } from '#common/until-signal.ts'
import { openBus } from './parts.ts'

// The least a compute could do: answer.
const nats = await openBus('compute')
nats.subscribe('floor.spawn', {
  queue: 'compute',
  callback: (_error, message) => {
    message.respond('{}')
  },
})
await untilSignal()
await nats.close()
