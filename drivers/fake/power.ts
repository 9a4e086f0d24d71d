import { Failure } from '#common/errors.ts'
import type { Pause, Suspend } from '../driver.ts'
import type { CrashDump } from '../guest-diagnostics.ts'
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

export function fakeSuspend(host: FakeHost): Suspend {
  return {
    suspend: (id, signal) =>
      host.change('suspend', id, signal, () => {
        const guest = host.guests.get(id)
        if (guest.isSuspended === true) return
        if (guest.powerState !== 'running')
          throw new Failure('conflict', `Instance ${id} is not running, so it cannot be suspended.`)
        host.guests.putUnseen({ ...guest, isSuspended: true })
        host.setPower(id, 'shutdown', 'suspended')
      }),
    resume: (id, signal) =>
      host.change('resume', id, signal, () => {
        if (host.guests.get(id).powerState !== 'running') host.setPower(id, 'running', 'resumed')
      }),
  }
}

export function fakeCrashDump(host: FakeHost): CrashDump {
  return {
    trigger: (id, signal) =>
      host.change('crashDump', id, signal, () => {
        const { powerState } = host.guests.get(id)
        if (powerState !== 'running' && powerState !== 'paused')
          throw new Failure('conflict', `Instance ${id} is not running, so it cannot crash.`)
        host.setPower(id, powerState, 'non-maskable interrupt')
      }),
  }
}
