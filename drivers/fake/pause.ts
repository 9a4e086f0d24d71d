import { Failure } from '#common/errors.ts'
import type { Pause } from '../driver.ts'
import type { FakeHost } from './host.ts'

export function fakePause(host: FakeHost): Pause {
  return {
    pause: (id, signal) =>
      host.change('pause', id, signal, () => {
        const state = host.guests.get(id).powerState
        if (state === 'paused') return
        if (state !== 'running')
          throw new Failure('conflict', `Instance ${id} is not running, so it cannot be paused.`)
        host.setPower(id, 'paused', 'paused')
      }),
    unpause: (id, signal) =>
      host.change('unpause', id, signal, () => {
        const state = host.guests.get(id).powerState
        if (state === 'running') return
        if (state !== 'paused') throw new Failure('conflict', `Instance ${id} is not paused.`)
        host.setPower(id, 'running', 'unpaused')
      }),
  }
}
